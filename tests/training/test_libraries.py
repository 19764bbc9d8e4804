import os
import subprocess
import sys

import pytest

SCRIPT = """
from cipher_nb.training.libraries import prepare_libraries
prepare_libraries()
import os, huggingface_hub.constants, torch, transformers
print(os.environ.get("OMP_WAIT_POLICY"), huggingface_hub.constants.HF_HUB_OFFLINE)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("own", "found", "left"), [(None, "PASSIVE", "None"), ("ACTIVE", "ACTIVE", "ACTIVE")])
def test_waiting_threads_sleep_unless_the_operator_says_otherwise(own, found, left):
    env = {**os.environ, "OMP_DISPLAY_ENV": "TRUE", **({"OMP_WAIT_POLICY": own} if own else {})}
    ended = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert f"OMP_WAIT_POLICY = '{found}'" in ended.stderr
    assert ended.stdout.split() == [left, "True"]

"""Git's part in the learning: a hook that records every commit, and reverts that take approvals back."""

from cipher_nb.commits.hook import install_hook
from cipher_nb.commits.record import Recorded, record_commit

__all__ = ["Recorded", "install_hook", "record_commit"]

"""Try a proposed change in a scratch copy, and bring it to the real tree only when it passed and was approved."""

from cipher_nb.sandbox.checks.run import run_check
from cipher_nb.sandbox.loop import verify
from cipher_nb.sandbox.outcome import Attempt, CheckResult, Feedback, Outcome
from cipher_nb.sandbox.proposal.edits import PROPOSAL_SCHEMA, Proposal, parse_proposal, proposal_from_json
from cipher_nb.sandbox.ship import apply_to_tree, commit

__all__ = [
    "PROPOSAL_SCHEMA",
    "Attempt",
    "CheckResult",
    "Feedback",
    "Outcome",
    "Proposal",
    "apply_to_tree",
    "commit",
    "parse_proposal",
    "proposal_from_json",
    "run_check",
    "verify",
]

"""The contracts of dummy-a2a against a gateway: a2a_contracts.py BASE."""

import asyncio
import sys

from dummy_a2a.contracts import a2a_contracts

#: What the contracts expect of the agent itself, and signet has no word for: an agent behind a daemon declines or is tried
#: again where one of A2A fails; nobody behind a daemon is asked for a login; an answer is one artifact.
NOT_OURS = {
    "state.failed",
    "state.auth-required",
    "multi-turn.auth-required-follow-up",
    "content.multi-artifact",
}


async def main(base):
    """Every other contract has to hold."""
    held, broken = 0, []
    for contract in a2a_contracts:
        if contract.id in NOT_OURS:
            continue
        result = await contract.verify(base)
        held += result.passed
        if not result.passed:
            broken.append(f"{result.contract_id}: {result.detail}")
    print(f"  {held} contracts hold; {len(NOT_OURS)} are of what signet does not do")
    if broken or not held:
        sys.exit("\n".join(broken) or "there are no contracts")


asyncio.run(main(sys.argv[1]))

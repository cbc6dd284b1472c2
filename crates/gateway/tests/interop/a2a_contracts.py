"""The contracts of dummy-a2a against a gateway: a2a_contracts.py BASE."""

import asyncio
import sys

from dummy_a2a.contracts import a2a_contracts

#: What the contracts expect of the agent itself, and the one behind the daemon here does not do: it has no A2A of its own
#: in which it could fail, ask for a login or answer in several artifacts.
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
    print(f"  {held} contracts hold; {len(NOT_OURS)} are of what this agent does not do")
    if broken or not held:
        sys.exit("\n".join(broken) or "there are no contracts")


asyncio.run(main(sys.argv[1]))

"""The agent behind the second daemon, on our Python client: agent.py HOME."""

import asyncio
import sys

from signet_agent import Agent, Decline

agent = Agent(home=sys.argv[1])


# Conversations in which a name was asked for.
asked = set()


@agent.handles("test.talk")
async def talk(request):
    """Says what it was asked, and does what the contracts of dummy-a2a ask for by a word."""
    body = request.body
    word = body.split(" ")[0] if isinstance(body, str) else None
    conversation = request.message.conversation_id
    if conversation in asked:
        asked.discard(conversation)
        return f"thank you, {body}"
    if word == "ask":
        asked.add(conversation)
        await request.progress("what is your name?", state="input-required")
        return await asyncio.sleep(60, "nobody said")
    if word == "reject":
        raise Decline("on purpose")
    if word == "stream":
        for index, piece in enumerate(["one", "two", "three"]):
            await request.progress("streaming", part=piece, index=index)
        return "one two three"
    if word == "data":
        return {"parts": [{"data": {"name": "data", "items": [1, 2]}, "mediaType": "application/json"}]}
    if word == "file":
        return {"parts": [{"raw": "aGVsbG8=", "filename": "hello.txt", "mediaType": "text/plain"}]}
    if word == "echo":
        await request.progress("on it")
    if body == "count":
        for index, word in enumerate(["one", "two", "three"]):
            await request.progress("counting", part=word, index=index)
            await asyncio.sleep(0.2)
        return "one two three"
    if body == "decline":
        raise Decline("not on Sundays")
    if body == "slow":
        await request.progress("slowly")
        await asyncio.sleep(30)
    return {"heard": body} if isinstance(body, dict) else f"heard {body}"


agent.run()

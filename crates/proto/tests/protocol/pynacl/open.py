"""Opens boxes with libsodium, by way of PyNaCl, and seals what was in them for the same keys.

Standard input: a JSON array of {"secret", "box"}, in hexadecimal. Standard output: a JSON array of
{"plaintext", "box"}.
"""

import json
import sys

from nacl.public import PrivateKey, SealedBox

answers = []
for case in json.load(sys.stdin):
    key = PrivateKey(bytes.fromhex(case["secret"]))
    plaintext = SealedBox(key).decrypt(bytes.fromhex(case["box"]))
    box = SealedBox(key.public_key).encrypt(plaintext)
    answers.append({"plaintext": plaintext.hex(), "box": box.hex()})
json.dump(answers, sys.stdout)

"""Checks decide by the vectors for routers in all languages: python3 -m unittest"""

import json
import pathlib
import unittest

from decide import decide, when

VECTORS = pathlib.Path(__file__).parents[2] / "schemas/testdata/decisions.json"


class Decisions(unittest.TestCase):
    def test_vectors(self):
        vectors = json.loads(VECTORS.read_text())
        self.assertGreater(len(vectors), 50)
        for v in vectors:
            with self.subTest(v["name"]):
                decision, retry_at = decide(v["state"], when(v["now"]), v["router"], v["call"])
                self.assertEqual(decision, v["decision"])
                self.assertEqual(retry_at, v["retry_at"] and when(v["retry_at"]))


if __name__ == "__main__":
    unittest.main()

"""The reliability campaign: what the library promises, tried on very many drawn cases.

``make campaign`` runs all parts, ``make campaign PART=labels COUNT=10000 SEED=3`` one of them. A
part is a module with a `PART`; each of its cases depends on the seed and its number alone, so that
``make campaign PART=labels SEED=3 CASE=17`` repeats one that failed.
"""

"""Mixed groups: clusters that are alike, each a mix of everything (``objective="mixed"``).

What is inside clusters and what is between them add up to a constant, so the most diversity inside
is the least between: the means of all features as equal as possible. There is nothing to alternate
with here, since no center attracts anything: labels that obey the rules are improved by moves
alone, each judged exactly (`kernels/moves/mix`).
"""

"""Size bounds measured: this engine against its peers, same data, same centers, same run.

python -m benchmarks.sizes main|step|million|duplicates|memory|grow|hard|quick|all
"""

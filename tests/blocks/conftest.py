"""One cluster for all tests that need one; it ends with them, for it costs time when idle."""

import pytest


@pytest.fixture(scope="package")
def cluster():
    from tests.support.dask_cluster import local_cluster

    with local_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """Let dask compute on the cluster for the length of a test."""
    from distributed import Client

    with Client(cluster) as client:
        yield client

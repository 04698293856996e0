"""One cluster for all tests that need one."""

import pytest


@pytest.fixture(scope="session")
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

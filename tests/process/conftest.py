from tests.process.jobs.conftest import make_splitter, splitter

__all__ = ["make_splitter", "splitter"]

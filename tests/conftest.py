"""What tests of several folders use."""

import contextlib
import fcntl
import gc
import logging
import os
import resource
import shutil
import signal

import pytest

# gRPC would start its threads again in every process that is forked from one of pytest's, before that becomes another
# program: then Ray's node may hang, and a command's standard error has lines of gRPC's.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """With CI=true in the environment, a test that is skipped has failed: there, everything must be installed."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome, report.longrepr = "failed", f"skipped, although CI=true: {report.longrepr[2]}"
    return report


def pytest_collection_finish():
    """Python's collector of garbage need not look again and again at what was imported, which stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Nor at what a file of tests leaves behind: TensorFlow keeps graphs with custom gradients for ever."""
    done = yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    return done


@pytest.fixture(scope="module")
def float64():
    """Double precision, so that tolerances are tight and nothing but a wrong equation makes a difference."""
    import keras

    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy("float32")


@pytest.fixture
def full_disk():
    """`with full_disk(size):` no file can grow beyond so many bytes, as if the disk were full by then."""

    @contextlib.contextmanager
    def limited(size):
        _, hardest = resource.getrlimit(resource.RLIMIT_FSIZE)
        signalled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hardest))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hardest))
            signal.signal(signal.SIGXFSZ, signalled)

    return limited


@pytest.fixture
def heeded_signals():
    """Ctrl-C and a hangup reach the test and what it starts, also where the tests were started with `&` or nohup."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def logged(caplog):
    """`logged()`: the messages that the library has logged since the last call, from INFO on. How far something is, of
    which there are more the slower the machine is, is left out unless `progress=True`."""
    caplog.set_level(logging.INFO, logger="tfnmt")

    def messages(progress=False):
        records = [record for record in caplog.records if progress or not hasattr(record, "is_progress")]
        found = [record.getMessage() for record in records if record.name.startswith("tfnmt.")]
        caplog.clear()
        return found

    return messages


@pytest.fixture(scope="session")
def export_once(tmp_path_factory):
    """`export_once(make, name)`: the path of version 1 of `make()`, exported by the first of pytest's processes that
    needs it."""
    from tfnmt.serving.export import export

    own = tmp_path_factory.getbasetemp()
    output = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "exported"
    output.mkdir(exist_ok=True)

    def export_once(make, name):
        with open(output / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            path = output / name / name / "1"
            return path if path.exists() else export(make(), output / name, name)

    return export_once


@pytest.fixture(scope="session")
def browser():
    """A Chromium without a window, as a driver of Selenium's; skips the test where it is not installed."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("there is no Chromium with its driver; on Debian: apt-get install chromium chromium-driver")
    from tfnmt_programs.figures.browser import open_browser

    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def ray_cluster():
    """Ray on this machine, started once for the tests of a file that ask for it; yields the module."""
    from tfnmt.ray_start import ADDRESS, ray_started

    with pytest.MonkeyPatch.context() as patched:
        patched.delenv(ADDRESS, raising=False)
        with ray_started(processors=2) as ray:
            yield ray

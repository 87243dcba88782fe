"""The commands around serving: export, client, benchmark, and the last step of the demo."""

import contextlib
import io
import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.commands.calls import call
from tests.serving.conftest import made, publish
from tfnmt.commands import export, serve
from tfnmt.commands.demo import translated_by_a_server
from tfnmt.commands.serve import export_to, folder_of_servables
from tfnmt.commands.verbs import command_parser
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import InterruptedBySignal, UserError
from tfnmt.pretrained import find_model
from tfnmt.serving.options import Address
from tfnmt.serving.tls import Certificate
from tfnmt.training.model_directory import save_configuration, save_tokenizers, save_weights
from tfnmt.translation import int8_weights
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.shortlist import Shortlist
from tfnmt_programs.asking import grpc_asker, rest_asker
from tfnmt_programs.benchmarks.serving import in_process_rate, server_figures


@pytest.fixture(scope="module")
def small_model():
    """What is exported here is not large."""
    return made("word", bidirectional=False, conditional=False)


@pytest.fixture
def asked(monkeypatch):
    """What `tfnmt client` answers to bytes on its standard input."""

    def ask(text, *options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return call("client", *options)

    return ask


@pytest.mark.slow
def test_export(small_model, tmp_path):
    model = small_model
    directory = tmp_path / "model"
    save_tokenizers(model, directory)
    save_configuration(model, directory)
    save_weights(model, directory)
    assert isinstance(model.configuration, TranslatorConfiguration)
    options = ["--name", "small", "--output", tmp_path / "served", "--beam-size", 1, "--quantize", "int8"]
    options += ["--no-repeat-ngram", 4]
    path, *figures = call("export", "--model", directory, *options).splitlines()
    assert path == str(tmp_path / "served" / "small" / "1")
    description = json.loads(Path(path, "assets.extra", "tfnmt.json").read_text(encoding="utf-8"))
    assert description["search"]["no_repeat_ngram"] == 4
    figures = {
        name.strip(): float(value.replace(",", "")) for name, value in (line.rsplit(None, 1) for line in figures)
    }
    assert figures["texts"] == 100
    assert figures["equal outputs"] <= 100 and figures["BLEU against float32's"] > 20
    assert figures["bytes of float32 weights"] == 4 * model.count_params()
    with pytest.raises(UserError, match="n_best=3: allowed is 1 to 2"):
        call("export", "--model", directory, "--name", "small", "--beam-size", 2, "--n-best", 3)
    pairs = tmp_path / "pairs.tsv"
    for wrong, complaint in (
        (["--target", pairs], "--source is missing: the sentences that --target translates"),
        (["--source", pairs, "--quantize", "none"], "--source means nothing with --quantize none"),
    ):
        with pytest.raises(UserError, match=complaint):
            call("export", "--model", directory, *options, *wrong)


@pytest.mark.slow
def test_quantized_weights_are_compared_with_the_same_search(small_model, tmp_path):
    directory = tmp_path / "model"
    save_tokenizers(small_model, directory)
    save_configuration(small_model, directory)
    save_weights(small_model, directory)
    source, target = (tokenizer.vocabulary_size for tokenizer in small_model.tokenizers)
    Shortlist(np.full([source, 1], 4), [5], target).save(tmp_path / "two.npz")  # two words: few ways to differ
    pairs = tmp_path / "pairs.tsv"
    lines = "".join(f"{english}\t{german}\n" for english, german in sample_pairs(60, seed=1, split="test"))
    pairs.write_text(lines, encoding="utf-8")  # more than a batch
    options = ["--name", "small", "--output", tmp_path / "served", "--shortlist", tmp_path / "two.npz"]
    options += ["--beam-size", 1, "--quantize", "float16", "--source", pairs, "--bleu-tokenize", "none"]
    figures = call("export", "--model", directory, *options)
    assert "texts  60\n" in figures
    (equal,) = (int(line.split()[-1]) for line in figures.splitlines() if "equal outputs" in line)
    assert equal > 54


def test_a_mistake_is_told_before_anything_is_loaded(tmp_path):
    for options, complaint in (
        (["--name", "../x"], "'../x' cannot be a model's name"),
        (["--name", "x", "--precision", "int8", "--quantize", "float16"], "^--quantize float16: with --precision int8"),
    ):
        with pytest.raises(UserError, match=complaint):
            call("export", "--model", tmp_path / "none", *options)
    with pytest.raises(UserError, match=f"^{tmp_path}/none: there is no such model directory"):
        call("serve", "--model", tmp_path / "none")


def test_products_that_are_faster_in_float32_are_exported_so(small_model, tmp_path, monkeypatch, logged):
    directory = tmp_path / "model"
    save_tokenizers(small_model, directory)
    save_configuration(small_model, directory)
    save_weights(small_model, directory)
    monkeypatch.setattr(int8_weights, "is_faster_in_float32", lambda matrix: matrix.shape[1] == 24)
    searches = []

    def created(models, search, *further):
        searches.append(search)
        raise UserError("enough")

    monkeypatch.setattr("tfnmt.models.create_servable", created)
    for precision in ("int8", "float32"):
        with pytest.raises(UserError, match="enough"):
            call("export", "--model", directory, "--name", "small", "--precision", precision)
    chosen = searches[0].float32_products
    assert chosen == ((8, 24),)
    assert searches[1].float32_products == ()
    told = "multiplied in float32, since that is faster here than int8: matrices of 8 x 24"
    assert [line for line in logged() if "float32" in line] == [told]


def test_what_is_stored_in_int8_is_compared_with_float32_in_all_else_alike(small_model, tmp_path, monkeypatch):
    for save in (save_tokenizers, save_configuration, save_weights):
        save(small_model, tmp_path / "model")
    source, target = (tokenizer.vocabulary_size for tokenizer in small_model.tokenizers)
    Shortlist(np.full([source, 1], 4), [5], target).save(tmp_path / "two.npz")
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\td\n")
    created, compared = [], []
    monkeypatch.setattr("tfnmt.models.create_servable", lambda *given, **named: created.append((given, named)))
    monkeypatch.setattr("tfnmt.serving.export.export", lambda *_: "small/1")
    compare = "tfnmt.serving.comparison.compare_with_float32"
    monkeypatch.setattr(compare, lambda *given: compared.append(given) or {"texts": 2})
    monkeypatch.setattr(export, "_faster_in_float32", lambda models: ())
    options = ["--precision", "int8", "--source", tmp_path / "pairs.tsv", "--bleu-tokenize", "char", "--beam-size", 2]
    options += ["--shortlist", tmp_path / "two.npz"]
    call("export", "--model", tmp_path / "model", "--name", "small", *options)
    ((_, search, quantize, shortlist), _), ((_, exact), named) = created
    assert (search.precision, quantize, exact) == ("int8", "int8", search.replace(precision="float32"))
    assert named == {"shortlist": shortlist} and shortlist is not None
    assert compared == [("small/1", None, ["a", "c"], ["b", "d"], "char")]


def test_client(echoes, tmp_path, start, asked):
    publish(echoes[0], tmp_path, "echo", 1)
    server = start(tmp_path)
    for url in (server.rest, server.grpc):
        there = ["--url", url, "--model", "echo"]
        lines = [f"line {i}" for i in range(100)]
        assert asked("\n".join(lines).encode(), *there).split("\n") == [*(f"one:{line}" for line in lines), ""]
        assert asked(b"", *there) == ""
        many = [" ".join(["w"] * 300)] * 40  # more tokens than one request may have
        assert asked("\n".join(many).encode(), *there) == "".join(f"one:{line}\n" for line in many)
        long = ["ä" * 10_000] * 40  # in JSON more bytes than one request may have
        assert asked("\n".join(long).encode(), *there) == "".join(f"one:{line}\n" for line in long)
        assert asked(b"\xef\xbb\xbfa\r\n\n", *there) == "one:a\none:\n"  # with a byte order mark
        assert asked("ä\tb\n".encode(), *there, "--signature", "pair") == '{"both": "ä|b"}\n'
        for text, signature, complaint in (
            (b"a\n", "pair", "line 1: 1 fields; expected source TAB target"),
            (b"a\n\xff\n", "serving_default", r"standard input, line 2: not UTF-8 \(byte 0xff at byte 1"),
            (b"a\n", "other", "echo has no signature 'other'; it has number, pair, serving_default, slow, wide"),
            (b"1\n2\nx\n4\n", "number", "standard input, line 3: .*could not correctly convert string: x"),
            (b"a\n" + b"a " * 501, "wide", "standard input, line 2: .* of 501 tokens: at most 500 are allowed"),
        ):
            with pytest.raises(UserError, match=complaint):
                asked(text, *there, "--signature", signature)
        with pytest.raises(UserError, match="Servable not found"):
            asked(b"a\n", "--url", url, "--model", "other")


def test_benchmark(echoes, tmp_path, start):
    publish(echoes[0], tmp_path, "echo", 1)
    assert in_process_rate(tmp_path / "echo" / "1", ["a", "b"], seconds=0.1) > 0
    server = start(tmp_path, wait_seconds=0.0)
    for make, url in ((rest_asker, server.rest), (grpc_asker, server.grpc)):
        address = urlsplit(url).netloc
        figures = server_figures(partial(make, address, "echo"), ["a", "b"], clients=4, seconds=0.3)
        assert figures["requests_per_second"] > 0 and 0 < figures["p50_ms"] <= figures["p99_ms"]
        with pytest.raises(UserError, match="Servable not found"):
            server_figures(partial(make, address, "other"), ["a"], clients=2, seconds=0.1)


@pytest.mark.parametrize("option, value", [("--beam-size", [3]), ("--no-unknown", []), ("--shortlist", ["a.npz"])])
def test_a_classifier_has_no_search(option, value, tmp_path):
    command = ["export", "--model", find_model("sample-spinn"), "--name", "trees", "--output", tmp_path / "served"]
    with pytest.raises(UserError, match=f"{option}: is about translators; leave it out for a classifier"):
        call(*command, option, *value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kept", [False, True])
def test_a_demo_that_is_interrupted(kept, tmp_path, monkeypatch):
    """It can go on where the model is kept, with the data beside it."""

    def interrupted(directory, preset, *files, **options):
        assert not files  # the run has a sample of its own
        raise InterruptedBySignal("interrupted by SIGTERM; --resume goes on", signal.SIGTERM)

    monkeypatch.setattr("tfnmt.translation.training.train_translator", interrupted)
    expected = "--resume goes on" if kept else "interrupted by SIGTERM; nothing is saved: start it again"
    with pytest.raises(InterruptedBySignal, match=expected):
        call("demo", *(["--output", tmp_path / "model"] if kept else []))


@pytest.mark.slow
def test_the_last_step_of_the_demo(small_model, sentences, tmp_path):
    """The server is a process of its own there."""
    expected = small_model.translate(sentences[:3], beam_size=5)
    assert translated_by_a_server(small_model, tmp_path, sentences[:3]) == (expected, "demo/1")


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_trained_models_to_serve_are_exported_by_their_names(processors, tmp_path, monkeypatch, capfd):
    """As many at once as there are processors; one that fails ends the others, and all complaints are seen."""
    at_work, most, ended = [], [], []

    class Export(subprocess.Popen):
        def __init__(self, command, env, stderr, **_):
            self.name = command[-1]
            assert env["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
            assert command[1:] == [
                *("-m", "tfnmt", "export", "--model", f"runs/{self.name}"),
                *("--output", str(tmp_path), "--name", self.name),
            ]
            script = {"fr": "echo fr is broken >&2; exit 2", "slow": "exec sleep 60"}.get(self.name, "exit 0")
            super().__init__(["sh", "-c", script], stderr=stderr)
            at_work.append(self.name)
            most.append(len(at_work))

        def wait(self, *arguments):
            status = super().wait(*arguments)
            if self.name in at_work:
                at_work.remove(self.name)
                ended.append((self.name, status))
            return status

    monkeypatch.setattr("tfnmt.commands.serve.subprocess.Popen", Export)
    monkeypatch.setattr("tfnmt.commands.serve.import_tensorflow", lambda: None)
    monkeypatch.setattr("tfnmt.commands.serve.processors", lambda: processors)
    export_to(str(tmp_path), ["runs/de", "runs/en", "runs/cs"])
    assert ended == [("de", 0), ("en", 0), ("cs", 0)] and max(most) == min(processors, 3)
    assert capfd.readouterr().err == ""
    with pytest.raises(UserError, match="runs/fr: was not exported"):
        export_to(str(tmp_path), ["runs/de", "runs/fr", "runs/slow"])
    assert ended[3:5] == [("de", 0), ("fr", 2)] and ended[5:] == [("slow", -signal.SIGKILL)] * (processors > 2)
    assert capfd.readouterr().err == "fr is broken\n"


def test_trained_models_to_serve_are_exported_in_a_precision(tmp_path, monkeypatch):
    commands = []

    class Export(subprocess.Popen):
        def __init__(self, command, **_):
            commands.append(command[3:])
            super().__init__(["true"])

    monkeypatch.setattr("tfnmt.commands.serve.subprocess.Popen", Export)
    monkeypatch.setattr("tfnmt.commands.serve.import_tensorflow", lambda: None)
    export_to(str(tmp_path), ["runs/de"], "int8")
    options = ["--model", "runs/de", "--output", str(tmp_path), "--name", "de", "--precision", "int8"]
    assert commands == [["export", *options]]
    assert command_parser("export", export).parse_args(options).precision == "int8"
    with pytest.raises(UserError, match="^--precision int8: is chosen by tfnmt export; it goes with --model alone$"):
        call("serve", "--precision", "int8")
    models = ("sample-en-de", "sample-spinn")
    with pytest.raises(UserError, match="^--precision bfloat16 is for translators: .*sample-spinn: is a classifier"):
        call("serve", "--model", *models, "--precision", "bfloat16")


@pytest.mark.parametrize("second", ["other/de", "runs/../runs/de/", "."])
def test_two_trained_models_of_one_name_are_refused(second, tmp_path, monkeypatch):
    (tmp_path / "de").mkdir()
    monkeypatch.chdir(tmp_path / "de")
    with pytest.raises(UserError, match="two models are called 'de'"):
        export_to(str(tmp_path), ["runs/de", second])


def test_either_trained_models_are_served_or_exported_ones():
    with pytest.raises(UserError, match="--models served: --model is served in its place; give only one of them"):
        call("serve", "--model", "runs/de", "--models", "served")


def test_what_was_exported_for_one_server_goes_with_it(monkeypatch):
    """Also when the server cannot start."""
    monkeypatch.setattr("tfnmt.commands.serve.export_to", lambda folder, models, precision: Path(folder, "de").mkdir())
    with pytest.raises(UserError), folder_of_servables(SimpleNamespace(model=["runs/de"], precision=None)) as folder:
        assert Path(folder, "de").is_dir()
        raise UserError("port 8501 is taken")
    assert not Path(folder).exists()
    with folder_of_servables(SimpleNamespace(model=None, models="saved_models")) as folder:
        assert folder == "saved_models"


@pytest.mark.parametrize("certificate", [None, Certificate("chain.pem", "key.pem")])
def test_the_server_has_the_options_asked_for(certificate, tmp_path, monkeypatch):
    asked = []

    def run(folder, options, *_):
        asked.append((folder, options))
        raise UserError("enough")

    monkeypatch.setattr("tfnmt.serving.server.run_server", run)
    (tmp_path / "token").write_text("0123456789abcdef")
    given = {"max-request-rows": 1, "max-text-tokens": 2, "max-request-tokens": 3, "max-connections": 4}
    given |= {"max-batch-size": 5, "batch-wait-ms": 6, "max-batch-tokens": 7, "rest-port": 8, "grpc-port": 9}
    given |= {"host": "::1", "models": tmp_path, "admin-token-file": tmp_path / "token"}
    given |= {"certificate": certificate.chain, "key": certificate.key} if certificate else {}
    with pytest.raises(UserError, match="enough"):
        call("serve", *(word for name, value in given.items() for word in (f"--{name}", value)), "--access-log")
    ((folder, options),) = asked
    limits, batching, address = options.limits, options.batching, options.address
    assert (limits.request_rows, limits.text_tokens, limits.request_tokens, limits.connections) == (1, 2, 3, 4)
    assert (batching.max_batch_size, batching.wait_seconds, batching.max_batch_tokens) == (5, 0.006, 7)
    assert (address.rest_port, address.grpc_port, address.host) == (8, 9, "::1")
    told = options.admin_token, options.access_log, options.certificate
    assert (folder, *told) == (str(tmp_path), "0123456789abcdef", True, certificate)


@pytest.mark.parametrize("certificate, scheme", [([], "http"), (["--certificate", "c", "--key", "k"], "https")])
def test_addresses_of_ipv6_are_in_brackets_where_a_port_follows(certificate, scheme, tmp_path, monkeypatch):
    """And may be so on the command line."""

    def run(folder, options, opened, prepare):
        assert options.address.host == "::1"
        opened(Address(options.address.host, 8, 9))
        raise InterruptedBySignal("enough", signal.SIGTERM)

    monkeypatch.setattr("tfnmt.serving.server.run_server", run)
    output = io.StringIO()
    for host in ("::1", "[::1]"):
        given = command_parser("serve", serve).parse_args(["--models", str(tmp_path), "--host", host, *certificate])
        with pytest.raises(InterruptedBySignal):
            serve.main(given, output)
    assert output.getvalue() == f"REST {scheme}://[::1]:8 gRPC [::1]:9\n" * 2


@pytest.mark.parametrize(
    "option, value, complaint",
    [
        ("--rest-port", "65536", "65536 is not a port: a whole number from 0 to 65535"),
        ("--grpc-port", "-1", "-1 is not a port: a whole number from 0 to 65535"),
        ("--batch-wait-ms", "60000.5", "60000.5 is not a number of milliseconds from 0 to 60000"),
        ("--batch-wait-ms", "-1", "-1 is not a number of milliseconds from 0 to 60000"),
        ("--batch-wait-ms", "nan", "nan is not a number of milliseconds from 0 to 60000"),
        ("--batch-wait-ms", "soon", "soon is not a number of milliseconds from 0 to 60000"),
    ],
)
def test_ports_and_times_that_are_none(option, value, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        call("serve", f"{option}={value}")
    assert (ended.value.code, capsys.readouterr().err) == (
        2,
        f"error: argument {option}: {complaint}; --help lists all options\n",
    )


def test_the_largest_port_and_the_longest_wait():
    assert (serve.port("65535"), serve.port("0")) == (65535, 0)
    assert (serve.milliseconds("60000"), serve.milliseconds("0.5")) == (60_000, 0.5)


@pytest.mark.parametrize("option", ["--certificate", "--key"])
def test_a_certificate_and_its_key_belong_together(option):
    with pytest.raises(UserError, match="--certificate and --key belong together"):
        call("serve", option, "file.pem")


@pytest.mark.parametrize(
    "outputs", [{"t": 1, "s": 2}, {"t": ["a"], "s": [1, 2]}, {"t": [], "s": []}], ids=["scalars", "more", "none"]
)
def test_an_answer_without_a_row_for_each_line_is_refused(outputs, monkeypatch):
    client = Mock(
        **{"signatures.return_value": {"serving_default": {"inputs": ["text"]}}, "predict.return_value": outputs}
    )
    monkeypatch.setattr("tfnmt.serving.client.connect", lambda *_, **__: contextlib.nullcontext(client))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x\n")))
    with pytest.raises(UserError, match="^http://a:1: the answer does not have one row for each line"):
        call("client", "--url", "http://a:1", "--model", "m")


def test_the_client_has_the_options_asked_for(monkeypatch):
    def connected(*given, **named):
        raise UserError(f"{given} {named}")

    monkeypatch.setattr("tfnmt.serving.client.connect", connected)
    with pytest.raises(UserError) as caught:
        call("client", "--url", "http://a:1", "--model", "m", "--deadline", 7, "--authorities", "a.pem")
    assert str(caught.value) == "('http://a:1', 7) {'authorities': 'a.pem'}"

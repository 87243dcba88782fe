"""The folder of servables: the versions of each model, and the files that TensorFlow Serving is started with."""

import contextlib
import fcntl
import os
import re
from pathlib import Path

from google.protobuf import text_format, wrappers_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig, ModelType

from tfnmt.errors import UserError

MODELS, BATCHING, MONITORING, COMPOSE = "models.config", "batching.config", "monitoring.config", "compose.yaml"
# The folder of servables within the container. In a base_path, it stands for the folder that models.config is in.
MOUNTED = "/models"
LARGEST_VERSION = 2**63 - 1
METRICS_PATH = "/monitoring/prometheus/metrics"
_BATCHING = """\
# A batch has at most max_batch_size texts, and waits at most batch_timeout_micros for them. As many are computed at the
# same time as there are processors; num_batch_threads { value: 8 } is another number.
max_batch_size { value: 32 }
batch_timeout_micros { value: 5000 }
max_enqueued_batches { value: 64 }
"""
_BATCHING_FIELDS = ("max_batch_size", "batch_timeout_micros", "num_batch_threads", "max_enqueued_batches")
_MOST_THREADS = 1024
_MONITORING = f"""\
prometheus_config {{
  enable: true
  path: "{METRICS_PATH}"
}}
"""
_COMPOSE = f"""\
# docker compose up: the stock TensorFlow Serving on these models. Newer versions are picked up as they appear.
services:
  serving:
    image: tensorflow/serving:2.21.0
    command:
      - --model_config_file={MOUNTED}/{MODELS}
      - --model_config_file_poll_wait_seconds=10
      - --allow_version_labels_for_unavailable_models=true
      - --enable_batching=true
      - --batching_parameters_file={MOUNTED}/{BATCHING}
      - --monitoring_config_file={MOUNTED}/{MONITORING}
    ports:
      - "127.0.0.1:8500:8500"
      - "127.0.0.1:8501:8501"
    volumes:
      - .:{MOUNTED}:ro
    user: "10001:10001" # nobody's; the files here have to be readable by all
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    mem_limit: 4gb
    restart: unless-stopped
"""
_DEFAULT_FILES = {BATCHING: _BATCHING, MONITORING: _MONITORING, COMPOSE: _COMPOSE}


def check_name(name: str) -> None:
    """Raise a UserError unless `name` can be a model's, in a URL and as a folder."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", name):
        raise UserError(f"{name!r} cannot be a model's name: use letters, digits, '_', '-' and '.', no '.' first")


def version_folders(folder: str | Path) -> dict[int, Path]:
    """{version: its folder} in a model's folder, the oldest first: its subfolders whose names are whole numbers from 1
    to 2^63 - 1, which may begin with zeros; of two with the same number, the shorter name counts."""
    try:
        entries = sorted(Path(folder).iterdir(), key=lambda entry: len(entry.name), reverse=True)
    except FileNotFoundError:
        return {}
    is_number = re.compile("0*[1-9][0-9]{0,18}")
    found = {int(entry.name): entry for entry in entries if is_number.fullmatch(entry.name) and entry.is_dir()}
    return {number: found[number] for number in sorted(found) if number <= LARGEST_VERSION}


def version_numbers(folder: str | Path) -> list[int]:
    """The versions in a model's folder, the oldest first; see `version_folders`."""
    return list(version_folders(folder))


def register(directory: str | Path, name: str) -> None:
    """List a model in models.config, unless it is there; write the other files where they are missing.

    Exports that end at the same time wait for each other here, so that none takes the other's model out again.
    """
    from tfnmt.files import write_file  # imports TensorFlow; who only reads these files can do without

    directory = Path(directory)
    path = directory / MODELS
    with _locked(directory):
        server = read_models(directory) if path.exists() else ModelServerConfig()
        if name not in [model.name for model in server.model_config_list.config]:
            server.model_config_list.config.add(name=name, base_path=f"{MOUNTED}/{name}", model_platform="tensorflow")
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            write_file(path, _with_last_model(text, server))
        for file, text in _DEFAULT_FILES.items():
            if not (directory / file).exists():
                write_file(directory / file, text)


def _with_last_model(text, server):
    """The text of models.config with one more model, the last of `server`; comments stay where there is a list."""
    entry = text_format.MessageToString(server.model_config_list.config[-1], indent=4)
    for end in reversed([brace.start() for brace in re.finditer("}", text)]):  # one of them ends the list
        longer = f"{text[:end].rstrip(' ')}  config {{\n{entry}  }}\n{text[end:]}"
        with contextlib.suppress(text_format.ParseError):
            if text_format.Parse(longer, ModelServerConfig()) == server:
                return longer
    return text_format.MessageToString(server)


@contextlib.contextmanager
def _locked(directory):
    """Within the block, no other process has a lock on the folder, where its file system has locks."""
    folder = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def read_models(directory: str | Path) -> ModelServerConfig:
    """models.config of a folder of servables.

    Raises:
        UserError: it is missing or broken, or lists what cannot be served.
    """
    path = Path(directory, MODELS)
    try:
        text = path.read_text(encoding="utf-8")
        config = text_format.Parse(text, ModelServerConfig())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}): tfnmt export writes it") from error
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is broken: {' '.join(str(error).split())}") from error
    if not text.strip():  # as it is for a moment while an editor writes it: not that no model is to be served
        raise UserError(f"{path}: is empty; model_config_list {{}} serves no model")
    problem = models_problem(config)
    if problem:
        raise UserError(f"{path}: {problem}")
    return config


def models_problem(config: ModelServerConfig) -> str | None:
    """What is wrong with a list of models, as TensorFlow Serving says it; None if nothing is."""
    if config.WhichOneof("config") == "custom_model_config":
        return "custom_model_config is not supported"
    names = [model.name for model in config.model_config_list.config]
    for model in config.model_config_list.config:
        platform = "tensorflow" if model.model_type == ModelType.TENSORFLOW else model.model_platform
        if not model.name:
            return "a model without a name"
        if names.count(model.name) > 1:
            return f"Illegal to list model {model.name} multiple times in config list"
        if not platform:
            setting = "neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform."
            return f"Illegal setting {setting} (model {model.name})"
        if platform != "tensorflow":
            return f"Model {model.name} requests unsupported platform {platform}"
        if not model.base_path:
            return f"Model {model.name} has no base_path"
        if "\0" in model.base_path:
            return f"Model {model.name} has a base_path that no folder can have: {model.base_path!r}"
    return None


def base_path(directory: str | Path, model: ModelConfig) -> Path:
    """The folder of a model's versions on this machine."""
    path = model.base_path
    if path == MOUNTED or path.startswith(MOUNTED + "/"):
        path = path.removeprefix(MOUNTED).lstrip("/")
    return Path(directory, path)


def batching_values(directory: str | Path) -> dict[str, int]:
    """The parameters in batching.config; none where there is no such file.

    Raises:
        UserError: it is broken, or a value is out of range.
    """
    path = Path(directory, BATCHING)
    try:
        # TensorFlow Serving has other parameters, too, which mean nothing here.
        message = text_format.Parse(path.read_text(encoding="utf-8"), _batching_message(), allow_unknown_field=True)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is broken: {' '.join(str(error).split())}") from error
    values = {field.name: value.value for field, value in message.ListFields()}
    for name, value in values.items():
        least = 0 if name == "batch_timeout_micros" else 1
        if value < least:
            raise UserError(f"{path}: {name} is {value}, and has to be {least} or more")
        if name == "num_batch_threads" and value > _MOST_THREADS:
            raise UserError(f"{path}: {name} is {value}, and has to be {_MOST_THREADS:,} or less")
    return values


def _batching_message():
    """An empty message of what is read of TensorFlow Serving's BatchingParameters, which its Python package lacks."""
    file = FileDescriptorProto(name="tfnmt/batching.proto", package="tfnmt", dependency=[wrappers_pb2.DESCRIPTOR.name])
    fields = file.message_type.add(name="BatchingParameters").field
    for number, name in enumerate(_BATCHING_FIELDS, start=1):
        fields.add(name=name, number=number, type="TYPE_MESSAGE", type_name="google.protobuf.Int64Value")
    pool = DescriptorPool()
    for each in (wrappers_pb2.DESCRIPTOR.serialized_pb, file.SerializeToString()):
        pool.AddSerializedFile(each)
    return GetMessageClass(pool.FindMessageTypeByName("tfnmt.BatchingParameters"))()

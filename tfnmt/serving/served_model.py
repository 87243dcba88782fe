"""One model of models.config: what it is to serve, and what is served of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig

from tfnmt.serving.health import LOADING, READY, UNAVAILABLE
from tfnmt.serving.requests import RequestError, invalid, not_found, unavailable
from tfnmt.serving.retries import RETRY_SECONDS
from tfnmt.serving.versions import Version

State = ModelVersionStatus.State


@dataclass
class ServedModel:
    """A model, its loaded versions, and the states of all."""

    config: ModelConfig
    available: dict[int, Version] = field(default_factory=dict)
    states: dict[int, tuple[int, str]] = field(default_factory=dict)
    """version → (state, error message)."""
    loading: bool = True
    """Until all its versions have been loaded, or refused, for the first time."""
    files: dict[int, list | None] = field(default_factory=dict)
    """version → what its files were when it was loaded."""
    refused: dict[int, tuple[list | None, str]] = field(default_factory=dict)
    """version → the fingerprint of the files that failed to load, None where it could not be taken; and the reason."""

    @property
    def readiness(self) -> str:
        """READY, LOADING or UNAVAILABLE; once loaded, it is ready as long as any version is available."""
        return LOADING if self.loading else READY if self.available else UNAVAILABLE

    @property
    def problem(self) -> str:
        """Why no version is available: what is wrong with the newest, or that there is none."""
        if not self.states:
            return f"{self.config.name}: no version to serve in {self.config.base_path}"
        newest = max(self.states)
        return f"{self.config.name}, version {newest}: {self.states[newest][1]}"

    @property
    def maximum_versions(self) -> int | None:
        """How many versions the version policy keeps; None for all."""
        policy = self.config.model_version_policy
        kind = policy.WhichOneof("policy_choice")
        return None if kind in ("all", "specific") else max(policy.latest.num_versions, 1)

    def candidates(self, numbers: Iterable[int]) -> list[int]:
        """The versions that the version policy allows, the newest first."""
        policy = self.config.model_version_policy
        specific = policy.WhichOneof("policy_choice") == "specific"
        return sorted((n for n in numbers if not specific or n in policy.specific.versions), reverse=True)

    def find(self, number: int | None, label: str) -> Version:
        """The version of this number or label; the newest one without either.

        Raises:
            RequestError: there is none.
        """
        name = self.config.name
        if label:
            number = self.labelled(label)
        if number is None:
            number, choice = max(self.available, default=None), f"Latest({name})"
        else:
            choice = f"Specific({name}, {number})"
        if number is None or number not in self.available:
            if self.loading:
                raise unavailable(f"model {name} is being loaded: {choice}", RETRY_SECONDS)
            raise unknown(choice)
        return self.available[number]

    def labelled(self, label: str) -> int:
        """The version of a label.

        Raises:
            RequestError: there is no such label.
        """
        if label not in self.config.version_labels:
            raise unknown_label(label)
        return self.config.version_labels[label]

    def find_states(self, number: int | None, label: str) -> dict[int, tuple[int, str]]:
        """{version: (state, error message)} of the version of this number or label, or of all, the newest first.

        Raises:
            RequestError: there is none.
        """
        name = self.config.name
        if label:
            number = self.labelled(label)
        states = {n: self.states[n] for n in sorted(self.states, reverse=True) if number in (None, n)}
        if not states and self.loading:
            raise unavailable(f"model {name} is being loaded", RETRY_SECONDS)
        if not states and number is not None:
            raise not_found(f"Could not find version {number} of model {name}")
        if not states:
            raise no_versions(name)
        return states

    def misplaced_labels(self) -> list[str]:
        """What is wrong with labels of versions that are not available."""
        return [
            f"label {label} is that of version {number} of model {self.config.name}, which is not available"
            for label, number in self.config.version_labels.items()
            if number not in self.available
        ]


def unknown(choice: str) -> RequestError:
    """The error of a request for a model or version that there is not, such as Latest(NAME)."""
    return not_found(f"Servable not found for request: {choice}")


def unknown_label(label: str) -> RequestError:
    """The error of a request that names a label which the model does not have."""
    return invalid(f"Unrecognized servable version label: {label}")


def no_versions(name: str) -> RequestError:
    """The error of a request for the status of a model that there is not."""
    return not_found(f"Could not find any versions of model {name}")

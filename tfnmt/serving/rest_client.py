"""The client by REST."""

import http.client
from pathlib import Path
from urllib.parse import quote

import requests

from tfnmt.serving.retries import Client, PredictError, RetryableError


class RestClient(Client):
    """See `connect`."""

    def __init__(self, url: str, deadline: float, retries: int, authorities: str | Path | None = None):
        super().__init__(deadline, retries)
        self._url = url
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy between a client and its server
        if authorities:
            self._session.verify = str(authorities)

    def _predict(self, model, inputs, signature, version):
        body = {"signature_name": signature, "inputs": inputs}
        outputs = self._call("POST", f"{_path(model, version)}:predict", _outputs, body)
        if isinstance(outputs, dict):
            return outputs
        (name,) = self.signatures(model, version)[signature]["outputs"]  # REST leaves out the name of a single output
        return {name: outputs}

    def signatures(self, model: str, version: int | None = None) -> dict[str, dict[str, list[str]]]:
        """{signature: {"inputs": [name, ...], "outputs": [name, ...]}}."""
        return self._call("GET", f"{_path(model, version)}/metadata", _signatures)

    def status(self, model: str) -> dict[int, str]:
        """{version: state}, such as {3: "AVAILABLE"}."""
        return self._call("GET", _path(model, None), _states)

    def close(self) -> None:
        """End the connections."""
        self._session.close()

    def _call(self, method, path, read, body=None):
        """What `read` makes of the answer's JSON."""

        def attempt(seconds):
            options = {"timeout": max(seconds, 0.001), "allow_redirects": False}  # a POST would become a GET
            try:
                response = self._session.request(method, self._url + path, json=body, **options)
            except requests.Timeout as error:
                raise PredictError("DEADLINE_EXCEEDED", f"no answer from {self._url} in time") from error
            except requests.exceptions.SSLError as error:
                raise PredictError("UNAVAILABLE", f"{self._url}: no trusted connection ({error})") from error
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
                if _is_other_protocol(error):
                    message = f"{self._url} does not answer in HTTP; is it the port of gRPC?"
                    raise PredictError("UNAVAILABLE", message) from error
                if _is_timeout(error):  # in the midst of the answer
                    raise PredictError("DEADLINE_EXCEEDED", f"no answer from {self._url} in time") from error
                closes = self._url.startswith("http:") and any(
                    isinstance(each, ConnectionResetError) for each in _causes(error)
                )
                what = "closes connections without an answer; is it for https?" if closes else "cannot be reached"
                raise RetryableError(PredictError("UNAVAILABLE", f"{self._url} {what}")) from error
            except (requests.exceptions.ContentDecodingError, requests.exceptions.RetryError) as error:
                raise PredictError("UNAVAILABLE", f"{self._url}: the answer cannot be read ({error})") from error
            except ValueError as error:  # of requests and of urllib3, for host names that cannot be
                raise PredictError("INVALID_ARGUMENT", f"{self._url} is not a valid address: {error}") from error
            if response.is_redirect:
                address = response.next.url.removesuffix(path) if response.next else "no address"
                raise PredictError(response.status_code, f"the server redirects to {address}: use that address")
            if response.ok:
                return _read(response, read)
            problem = PredictError(response.status_code, _message(response))
            if response.status_code not in (429, 502, 503):
                raise problem
            seconds = response.headers.get("Retry-After", "")  # or a date, which only counts as a failure
            raise RetryableError(problem, float(seconds) if seconds.isdecimal() else None)

        return self.retry(attempt)


def _is_other_protocol(error):
    """Whether the answer is not one in HTTP. (None at all is an error of a class below the same one.)"""
    return any(type(each) is http.client.BadStatusLine for each in _causes(error))


def _is_timeout(error):
    """Whether the rest of an answer has not come in time."""
    return any(isinstance(getattr(each, "__cause__", None), TimeoutError) for each in error.args)


def _causes(error):
    return [cause for each in error.args for cause in getattr(each, "args", ())]


def _read(response, read):
    kind = "valid JSON"
    try:
        answer = response.json()
        kind = "a model server's"
        return read(answer)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:  # no JSON, or of another form
        message = f"the answer is not {kind}: {response.text.strip()[:60]!r}; is the address right?"
        raise PredictError(response.status_code, message) from error


def _outputs(answer):
    """A list for each output by name, or that of a single output."""
    outputs = answer["outputs"]
    if not isinstance(outputs, dict | list):
        raise TypeError
    return outputs


def _signatures(answer):
    definitions = answer["metadata"]["signature_def"]["signature_def"]
    return {
        name: {side: sorted(definition[side]) for side in ("inputs", "outputs")}
        for name, definition in sorted(definitions.items())
        if not name.startswith("__")
    }


def _states(answer):
    return {int(each["version"]): each["state"] for each in answer["model_version_status"]}


def _path(model, version):
    path = f"/v1/models/{quote(model, safe='')}"
    return path if version is None else f"{path}/versions/{version}"


def _message(response):
    try:
        return str(response.json()["error"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return response.text.strip()[:200]

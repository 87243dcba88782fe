"""The folder of servables, with exports that end at the same time."""

import threading
import time

from tfnmt.serving import files


def test_no_export_takes_the_model_of_another_out_of_the_list(tmp_path, monkeypatch):
    read_models = files.read_models

    def read_slowly(directory):
        models = read_models(directory)
        time.sleep(0.05)  # in which the others would read the same
        return models

    monkeypatch.setattr(files, "read_models", read_slowly)
    files.register(tmp_path, "first")
    names = [f"model-{i}" for i in range(5)]
    exports = [threading.Thread(target=files.register, args=(tmp_path, name)) for name in names]
    for export in exports:
        export.start()
    for export in exports:
        export.join()
    listed = [model.name for model in read_models(tmp_path).model_config_list.config]
    assert sorted(listed) == ["first", *names]

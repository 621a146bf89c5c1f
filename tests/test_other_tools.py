"""Code of docs/other-tools.md, run where the tool is installed."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs/other-tools.md").read_text(encoding="utf-8")
BEGIN, *BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TOOLS = ("shap", "skl2onnx", "mlflow", "optbinning")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("tool", "block"), list(zip(TOOLS, BLOCKS, strict=True)), ids=TOOLS)
def test_takes_our_models(tool, block):
    pytest.importorskip(tool)
    exec(compile(BEGIN + block, "docs/other-tools.md", "exec"), {"__name__": "__main__"})

"""Every reason as a sentence, in English and in Traditional Chinese: the one place where the wording is asserted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from minuend.language import Language
from minuend.models.patterns import Op, X, less
from minuend.models.ranges.interval import Range
from minuend.operators import SUBTRACT
from minuend.runtimes import reasons as because
from minuend.runtimes import rendering
from minuend.runtimes.adapters.iree import OPEN_DIMS
from minuend.runtimes.reasons import REASONS, Reason, Stated
from minuend.runtimes.witness import Witness

A = Range("uint8", 128, 255, why="Clip")
B = Range("uint8", 0, 127, constant=True, why="constant")
ASSUMED = replace(A, why="uint8 input", assumptions=frozenset({"no dim is above 9"}))
WRAPS = Witness(SUBTRACT, (5, 10), 0, 251)
ZERO = Witness(SUBTRACT, (-0.0, 0.0), 0.0, -0.0)
PRODUCT = less(Op("Mul", (X, X)), X)
FOLDED = because.Folded(PRODUCT)
OV, SETTING = "openvino-cpu@2026.4.1", (("INFERENCE_PRECISION_HINT", "f32"),)
OLDER, NEWER = Stated("1.0", "different-numbers", WRAPS), Stated("1.2", "ok", None)

SENTENCES: list[tuple[Reason, str, str]] = [
    (because.Purpose("mean subtraction"), "mean subtraction", "減去平均值"),
    (because.RuleBroken("types", "no int3"), "no int3", "no int3"),
    (because.NotUnderstood("no such operator"), "no such operator", "no such operator"),
    (
        because.TakenAnyway("openvino's ONNX reader takes it all the same and joins the shapes by NumPy's rule"),
        "openvino's ONNX reader takes it all the same and joins the shapes by NumPy's rule",
        "openvino 的 ONNX 讀取器仍會接受，並依 NumPy 的規則結合形狀",
    ),
    (
        because.UnsupportedForm("unsorted", "ONNX's evaluator wants every domain imported"),
        "ONNX's evaluator wants every domain imported",
        "ONNX 的參考執行器要求匯入每個領域（domain）",
    ),
    (because.DialectNotRead("tract", "OpenVINO"), "tract does not read OpenVINO models", "tract 不讀取 OpenVINO 模型"),
    (
        because.UnsupportedForm(
            "Softmax-11 over several axes", "openvino goes along one axis in Softmax-11", "onnx:13"
        ),
        "openvino goes along one axis in Softmax-11; convert it: minuend convert MODEL --to onnx:13 -o OUT",
        "openvino 的 Softmax-11 只沿一個軸計算；請轉換：minuend convert MODEL --to onnx:13 -o OUT",
    ),
    (
        because.OperatorNotRead("tvm", "GRU"),
        "tvm does not run GRU, which the model has; write it with other operators, or choose another runtime",
        "tvm 無法執行模型中的 GRU；請以其他運算子改寫，或選用其他執行環境",
    ),
    (
        because.OperatorNotMeasured("tract", "my.Gelu"),
        "whether tract runs my.Gelu, which the model has, was not measured",
        "未曾測量 tract 能否執行模型中的 my.Gelu",
    ),
    (
        because.OperatorComputedOtherwise("mnn", "GRU with clip"),
        (
            "mnn gives other numbers for GRU with clip, which the model has; write it with other operators, or choose "
            "another runtime"
        ),
        "mnn 對模型中的 帶 clip 的 GRU 算出不同的數值；請以其他運算子改寫，或選用其他執行環境",
    ),
    (
        because.DialectNotRead("tract", "OpenVINO", to="onnx"),
        "tract does not read OpenVINO models; convert it first: minuend convert MODEL --to onnx -o OUT",
        "tract 不讀取 OpenVINO 模型；請先轉換：minuend convert MODEL --to onnx -o OUT",
    ),
    (
        because.DialectNotRead("tract", "OpenVINO", refusal="it is refused"),
        "tract does not read OpenVINO models, and it is refused",
        "tract 不讀取 OpenVINO 模型，而且 it is refused",
    ),
    (because.VersionNotLoaded("it is of opset 24"), "it is of opset 24", "it is of opset 24"),
    (because.NotInStandard("no rank 9"), "no rank 9", "no rank 9"),
    (because.SizesAssumed("no size is 0"), "no size is 0", "no size is 0"),
    (because.MadeLarger("Log"), "Log makes more of it", "Log 會放大此差異"),
    (
        because.ZeroSignNotRead(),
        "only the sign of a zero differs, and what reads the result does not depend on it",
        "只有零的正負號不同，而讀取此結果的運算不受其影響",
    ),
    (
        because.OpenSizesMeet(OPEN_DIMS),
        OPEN_DIMS,
        "IREE 會把兩個動態大小視為相等：若其中一個是 1 而另一個不是，它會讀到末端之外；請為相等的大小使用同一個名稱",
    ),
    (because.AsContracted(), "results as expected", "結果符合預期"),
    (
        because.OutOfReach(("wraps", "beyond int32"), (), (A, B)),
        ("A is 128..255 (Clip), B is 0..127 (constant), so values that wrap and values beyond int32 cannot occur"),
        "A 為 128..255（Clip），B 為 0..127（常數），因此迴繞的值、超出 int32 的值不可能出現",
    ),
    (
        because.OutOfReach((), (("negative zero", ZERO),), (A, B)),
        (
            "A is 128..255 (Clip), B is 0..127 (constant); only other operands deviate, in negative zeros "
            "(−0.0 − 0.0 = 0.0)"
        ),
        "A 為 128..255（Clip），B 為 0..127（常數）；負零（−0.0 − 0.0 = 0.0）只有在其他運算元時結果不同",
    ),
    (
        because.OutOfReach(("wraps",), (("nan", None),), (ASSUMED, Range(None))),
        (
            "A is 128..255 (uint8 input), B is of an unknown type, where no dim is above 9, so values that "
            "wrap cannot occur; only other operands deviate, in NaN results"
        ),
        (
            "A 為 128..255（uint8 輸入），B 為 未知型別，其中 no dim is above 9，因此迴繞的值不可能出現；"
            "結果為 NaN 的值只有在其他運算元時結果不同"
        ),
    ),
    (because.ValuesDiffer(("negative zero",)), "negative zeros differ", "負零的結果不同"),
    (
        because.ValuesDiffer(("wraps",), WRAPS, ("beyond int32", "in range"), (A, B)),
        (
            "saturates instead of wrapping: 5 − 10 = 0, expected 251; values beyond int32 and values in "
            "range differ too; A is 128..255 (Clip), B is 0..127 (constant)"
        ),
        (
            "結果飽和而非迴繞：5 − 10 = 0，預期為 251；"
            "超出 int32 的值、範圍內的值的結果也不同；A 為 128..255（Clip），B 為 0..127（常數）"
        ),
    ),
    (
        because.OtherPairsDiffer(("wraps",), ("in range",), (A,), WRAPS),
        (
            "values that wrap differ, measured with operands outside these ranges, from which follows "
            "5 − 10 = 0, expected 251; values in range differ too; A is 128..255 (Clip)"
        ),
        (
            "迴繞的值的結果不同，但實測的運算元在這些範圍之外，由此推得 5 − 10 = 0，預期為 251；"
            "範圍內的值的結果也不同；A 為 128..255（Clip）"
        ),
    ),
    (
        because.ResultDiffers("the result is of int32", ("wraps",)),
        "the result is of int32; values that wrap differ too",
        "the result is of int32；迴繞的值的結果也不同",
    ),
    (because.RuntimeMessage("no kernel"), "no kernel", "no kernel"),
    (because.NotMeasured(OV), "this case has not been measured", "這種情形未經量測"),
    (
        because.ProcessorNotMeasured(OV, "avx2", ("avx512f", "amx_tile")),
        "openvino-cpu@2026.4.1 has not been measured up to AVX2; it was up to AVX-512 and AMX",
        "openvino-cpu@2026.4.1 未在最高支援 AVX2 的處理器上量測；量測到的最高支援為 AVX-512、AMX",
    ),
    (because.NotDeclared("directml@5.1"), "this case is not documented", "文件沒有說明這種情形"),
    (because.OtherOperandsDiffer(), "other operands are known to give different results", "已知其他運算元的結果不同"),
    (
        because.PairsLikeItDiffer("5 - 10"),
        "operands like 5 - 10 are known to give different results",
        "已知類似 5 - 10 的運算結果不同",
    ),
    (because.Undocumented(), "the documents do not say what the results are", "文件未說明結果為何"),
    (because.NothingStated(OV), "no data", "沒有資料"),
    (
        because.Concerns((("wraps", WRAPS), ("nan", None))),
        "affected: values that wrap (5 − 10 = 0) and NaN results",
        "涉及：迴繞的值（5 − 10 = 0）、結果為 NaN 的值",
    ),
    (
        because.DocumentsSilent(("nan", "infinite", "subnormal")),
        "the documents do not cover NaN results, infinite operands and subnormal numbers",
        "文件未提及結果為 NaN 的值、無限大的運算元、次正規數",
    ),
    (
        because.ShapesAtRunTime("one-sided"),
        "the shapes are dynamic; this holds for one operand broadcast",
        "形狀在執行時才確定；此結果適用於「一個運算元廣播」",
    ),
    (
        because.FoldingDiffers((("none", WRAPS), ("both", "ok"))),
        "different if no operand is a constant (5 − 10 = 0); correct if both operands are constants",
        "若運算元都不是常數則結果不同（5 − 10 = 0）；若兩個運算元皆為常數則正確",
    ),
    (
        because.ReleasesDiffer("1.1", OLDER, NEWER, ""),
        (
            "1.1 has not been measured; 1.0 gives different results (5 − 10 = 0), 1.2 gives the expected "
            "results; the verdict is the worse of the two"
        ),
        "1.1 未經量測；1.0 的結果不同（5 − 10 = 0），1.2 的結果符合預期；採用兩者中較差的判定",
    ),
    (
        because.ReleasesDiffer("1.1", OLDER, NEWER, "1.0"),
        (
            "1.1 has not been measured; 1.0 gives different results (5 − 10 = 0), 1.2 gives the expected "
            "results; the verdict is that of 1.0"
        ),
        "1.1 未經量測；1.0 的結果不同（5 − 10 = 0），1.2 的結果符合預期；採用 1.0 的判定",
    ),
    (
        because.PatternNotMeasured((PRODUCT, FOLDED), OV),
        "not measured: Mul(x, x) - x and Mul(x, x) - x of constants",
        "未經量測：Mul(x, x) - x、由常數構成的 Mul(x, x) - x",
    ),
    (
        because.PatternNotMeasured((PRODUCT,) * 5, OV, SETTING),
        (
            "not measured: Mul(x, x) - x, Mul(x, x) - x and Mul(x, x) - x and 2 more; measured with "
            "INFERENCE_PRECISION_HINT=f32"
        ),
        (
            "未經量測：Mul(x, x) - x、Mul(x, x) - x、Mul(x, x) - x 及另外 2 個；"
            "設定 INFERENCE_PRECISION_HINT=f32 時則有量測資料"
        ),
    ),
    (because.PatternsNotMeasured(OV), "patterns have not been measured", "運算組合未經量測"),
    (because.DynamicShapesNotMeasured(OV), "dynamic shapes have not been measured", "動態形狀未經量測"),
    (
        because.ZeroNotMeasured(OV),
        "constants that are 0 in float32 have not been measured",
        "在 float32 中為 0 的常數未經量測",
    ),
    (because.PatternRefused(PRODUCT, "no kernel"), "Mul(x, x) - x: no kernel", "Mul(x, x) - x：no kernel"),
    (
        because.PatternComputedOtherwise(PRODUCT),
        "Mul(x, x) - x differs from its operators computed one by one",
        "Mul(x, x) - x 的結果與逐一計算各運算子不同",
    ),
    (
        because.PatternComputedOtherwise(PRODUCT, ("ordinary", "rounds")),
        ("Mul(x, x) - x differs from its operators computed one by one: exact differences and differences that round"),
        "Mul(x, x) - x 的結果與逐一計算各運算子不同：精確的差、需要捨入的差",
    ),
    (
        because.PrecisionLower(PRODUCT, SETTING, ("rounds",)),
        (
            "Mul(x, x) - x is computed in lower precision than its type has: differences that round differ; "
            "correct with INFERENCE_PRECISION_HINT=f32"
        ),
        "Mul(x, x) - x 以低於其型別的精度計算：需要捨入的差的結果不同；設定 INFERENCE_PRECISION_HINT=f32 即正確",
    ),
    (
        because.ConstantsNotRounded(FOLDED, "float16"),
        "Mul(x, x) - x of constants is folded in float32, without rounding to float16 in between",
        "由常數構成的 Mul(x, x) - x 以 float32 折疊，中間未捨入為 float16",
    ),
    (
        because.ConstantsMixedUp("float16", OV),
        (
            "openvino-cpu@2026.4.1 can use the float16 constant of another node of the model: it finds "
            "kernels by a hash, and theirs can be the same"
        ),
        "openvino-cpu@2026.4.1 可能使用模型中另一個節點的 float16 常數：它以雜湊值尋找核心，而兩者的雜湊值可能相同",
    ),
    (
        because.AnotherConstant(),
        "another subtraction of this shape has another constant",
        "另一個同形狀的減法有不同的常數",
    ),
    (
        because.ProbeRefused("no kernel"),
        "run here in isolation: refused: no kernel",
        "在本機單獨執行：遭到拒絕：no kernel",
    ),
    (
        because.ProbeResultDiffers("the result is of int32"),
        "run here in isolation: the result is of int32",
        "在本機單獨執行：the result is of int32",
    ),
    (
        because.ProbeDiffers(2, 40, WRAPS),
        ("run here in isolation: 2 of 40 operand pairs from its ranges differ, such as 5 − 10 = 0, expected 251"),
        "在本機單獨執行：值域內的 40 組運算元中有 2 組結果不同，例如 5 − 10 = 0，預期為 251",
    ),
    (
        because.ProbeAgrees(40),
        "run here in isolation: all 40 operand pairs from its ranges are as expected",
        "在本機單獨執行：值域內的 40 組運算元結果全部符合預期",
    ),
    (
        because.ProbeAgrees(40, "patterns"),
        (
            "run here in isolation: all 40 operand pairs from its ranges are as expected; adjacent "
            "operators were not included"
        ),
        "在本機單獨執行：值域內的 40 組運算元結果全部符合預期；未涵蓋相鄰的運算子",
    ),
    (
        because.ProbeAgrees(40, "shapes"),
        (
            "run here in isolation: all 40 operand pairs from its ranges are as expected; only some of its "
            "possible shapes were run"
        ),
        "在本機單獨執行：值域內的 40 組運算元結果全部符合預期；只執行了部分可能的形狀",
    ),
    (
        because.RunContradicts(16),
        (
            "the run contradicts the measurement: all 16 elements were as expected, and inputs of the numbers that "
            "were measured to differ were among them; another processor or other shapes can be why"
        ),
        "這次執行與量測結果矛盾：16 個元素全部符合預期，而輸入中包含量測時結果不同的數值；原因可能是處理器或形狀不同",
    ),
    (because.RunAgrees(16), "in the run, all 16 elements were as expected", "這次執行得到的 16 個元素全部符合預期"),
    (
        because.RunAloneAgrees(16),
        "in the run, all 16 elements were as expected; other inputs are unknown",
        "這次執行得到的 16 個元素全部符合預期；其他輸入的結果未知",
    ),
    (because.RunDiffers(3, 4), "in the run, 3 of 4 elements differed", "這次執行的 4 個元素中有 3 個不同"),
    (
        because.RunDiffers(3, 4, (0, 1), WRAPS),
        "in the run, 3 of 4 elements differed, the first at index [0, 1]: 5 − 10 = 0, expected 251",
        "這次執行的 4 個元素中有 3 個不同，第一個在索引 [0, 1]：5 − 10 = 0，預期為 251",
    ),
    (
        because.RunDiffers(3, 4, (), None, "0", "251"),
        "in the run, 3 of 4 elements differed, the first at index []: got 0, expected 251",
        "這次執行的 4 個元素中有 3 個不同，第一個在索引 []：得 0，預期為 251",
    ),
    (
        because.RunTogetherDiffers(("graph.node[1] (Add)", "graph.node[2] (Relu)")),
        (
            "in the run, it was computed together with graph.node[1] (Add) and graph.node[2] (Relu), and "
            "the result differed"
        ),
        "這次執行中，它與 graph.node[1] (Add)、graph.node[2] (Relu) 一起計算，所得的結果不同",
    ),
    (
        because.RunTogetherDiffers(("graph.node[1] (Add)",), (0, 1), "0", "251"),
        (
            "in the run, it was computed together with graph.node[1] (Add), and the result differed, first "
            "at index [0, 1]: got 0, expected 251"
        ),
        "這次執行中，它與 graph.node[1] (Add) 一起計算，所得的結果不同，第一個在索引 [0, 1]：得 0，預期為 251",
    ),
    (
        because.ClassesDiffer(("wraps", "in range", "every value")),
        "values that wrap, values in range, every value differ",
        "迴繞的值、範圍內的值、所有的值的結果不同",
    ),
    (
        because.ConstantsMixedUpOften(2, 96),
        "2 of 96 nodes were computed with another node's constant",
        "96 個節點中有 2 個用了另一個節點的常數計算",
    ),
    (
        because.ReleaseBetween("tract@1.1", "1.0", "1.2"),
        (
            "tract@1.1 has not been measured; verdicts are those of 1.0 and 1.2, the nearest measured "
            "releases. Findings say where the two differ"
        ),
        "tract@1.1 未經量測；判定採用最接近的已量測版本 1.0 與 1.2。兩者不同之處，判定會說明",
    ),
    (
        because.ReleaseTooNew("tract@2", "1.2"),
        (
            "warning: tract@2 has not been measured; verdicts are those of 1.2, the newest measured "
            "release. To measure it: minuend measure tract -o tract.json"
        ),
        "警告：tract@2 未經量測；判定採用已量測的最新版本 1.2。量測方式：minuend measure tract -o tract.json",
    ),
    (
        because.ReleaseTooOld("tract@0", "1.0"),
        (
            "warning: tract@0 has not been measured; verdicts are those of 1.0, the oldest measured "
            "release. To measure it: minuend measure tract -o tract.json"
        ),
        "警告：tract@0 未經量測；判定採用已量測的最舊版本 1.0。量測方式：minuend measure tract -o tract.json",
    ),
    (
        because.SettingNeeded(OV, 1, SETTING, "f32"),
        (
            "on openvino-cpu@2026.4.1, 1 subtraction is correct only with INFERENCE_PRECISION_HINT=f32; the "
            "default differs on processors with bfloat16 instructions. To set it: compile_model(model, "
            "\"CPU\", {'INFERENCE_PRECISION_HINT': 'f32'}). To check with it: --hint f32"
        ),
        (
            "在 openvino-cpu@2026.4.1 上，1 個減法只有設定 INFERENCE_PR"
            "ECISION_HINT=f32 才正確；在具有 bfloat16 指令的處理器上，預設值不同。"
            '設定方式：compile_model(model, "CPU", {\'INFERENCE_PRE'
            "CISION_HINT': 'f32'})。以此設定檢查：--hint f32"
        ),
    ),
    (
        because.SettingNeeded(OV, 2, SETTING, "f32"),
        (
            "on openvino-cpu@2026.4.1, 2 subtractions are correct only with INFERENCE_PRECISION_HINT=f32; "
            "the default differs on processors with bfloat16 instructions. To set it: compile_model(model, "
            "\"CPU\", {'INFERENCE_PRECISION_HINT': 'f32'}). To check with it: --hint f32"
        ),
        (
            "在 openvino-cpu@2026.4.1 上，2 個減法只有設定 INFERENCE_PR"
            "ECISION_HINT=f32 才正確；在具有 bfloat16 指令的處理器上，預設值不同。"
            '設定方式：compile_model(model, "CPU", {\'INFERENCE_PRE'
            "CISION_HINT': 'f32'})。以此設定檢查：--hint f32"
        ),
    ),
    (
        because.MeasuredOn("a CPU", (), (OV,)),
        "measured on a CPU: openvino-cpu@2026.4.1",
        "量測於 a CPU：openvino-cpu@2026.4.1",
    ),
    (
        because.MeasuredOn("a CPU", ("another",), (OV, "tract@1.0")),
        "measured on a CPU; patterns on another: openvino-cpu@2026.4.1 and tract@1.0",
        "量測於 a CPU；運算組合量測於 another：openvino-cpu@2026.4.1、tract@1.0",
    ),
    (
        because.ProcessorMatters(
            "openvino-cpu",
            "rounds bfloat16 where the processor has avx512f; with avx2 alone it cuts off: 0.1 - 0.5 gives -0.398",
        ),
        (
            "openvino-cpu rounds bfloat16 where the processor has avx512f; with avx2 alone it cuts off: 0.1 "
            "- 0.5 gives -0.398"
        ),
        "openvino-cpu 在具有 avx512f 的處理器上會捨入 bfloat16；僅有 avx2 時則直接捨去：0.1 - 0.5 得 -0.398",
    ),
    (
        because.OnProcessor("avx2"),
        "so on processors up to AVX2, and not on newer ones",
        "在最新指令集為 AVX2 的處理器上如此，較新的處理器則否",
    ),
]

DERIVED = {
    "setting-needed": {"options"},
    "values-differ": {"deviation"},
    "release-too-new": {"runtime"},
    "release-too-old": {"runtime"},
}
"""What a sentence shows besides its reason's own facts."""

CHINESE = Language("zh_TW")


@pytest.mark.parametrize(("reason", "english", "chinese"), SENTENCES, ids=[one[0].code for one in SENTENCES])
def test_a_reason_has_one_sentence_in_each_language(reason: Reason, english: str, chinese: str) -> None:
    assert rendering.english([reason]) == english
    assert rendering.sentence([reason], CHINESE) == chinese


def test_every_kind_of_reason_has_a_code_clauses_and_an_example() -> None:
    codes = [kind.code for kind in REASONS]
    assert len(set(codes)) == len(codes)
    assert set(rendering.SENTENCES) == set(codes)
    assert {type(one[0]) for one in SENTENCES} == set(REASONS)


def clauses() -> Iterator[tuple[str, str]]:
    """Every clause with its code."""
    for code, row in rendering.SENTENCES.items():
        yield from ((code, clause) for clause in row)


@pytest.mark.parametrize(("code", "clause"), list(clauses()))
def test_a_clause_names_facts_of_its_reason_and_stands_in_an_example(code: str, clause: str) -> None:
    (kind,) = (one for one in REASONS if one.code == code)
    known = {*kind.facts()} | DERIVED.get(code, set())
    assert set(rendering.slots(clause)) <= known
    fixed = clause.split("{", maxsplit=1)[0].strip(" ;:,")
    assert any(fixed in english for reason, english, _ in SENTENCES if reason.code == code)


def test_every_text_is_translated() -> None:
    language = Language("zh_TW")
    for text in rendering.texts():
        language.tr(text)
    for reason, *_ in SENTENCES:
        rendering.sentence([reason], language)
    alone = {"{answers}", "{deviation}", "{message}", "{operands}", "{purpose}", "{statement}"}
    assert set(language.missing()) == alone  # nothing but a fact


@pytest.mark.parametrize(
    ("operands", "got", "expected", "saturates"),
    [
        ((5, 10), 0, 251, True),
        ((127, -1), 127, -128, True),
        ((2**63 - 1, 1), 2**63 - 2, 0, False),  # fits, and differs otherwise
        ((5, 10), 1, 251, False),
        ((5, 10), 0, 65531, True),  # uint16
        ((300, 400), 0, 156, False),  # no operands of uint8
        ((10, 5), 0, 5, False),
        ((1.5, 2.0), 0.0, -0.5, False),
    ],
)
def test_a_result_saturates_where_the_witness_shows_it(
    operands: tuple[float, ...], got: float, expected: float, saturates: bool
) -> None:
    shown = rendering.english([because.ValuesDiffer(("wraps",), Witness(SUBTRACT, operands, got, expected))])
    assert shown.startswith("saturates instead of wrapping: " if saturates else "values that wrap differ: ")


def test_reasons_are_joined_and_the_first_that_decides_gives_the_code() -> None:
    reasons = (because.Purpose("mean subtraction"), because.AsContracted(), because.ShapesAtRunTime("same"))
    assert rendering.english(reasons) == (
        "mean subtraction; results as expected; the shapes are dynamic; this holds for same shapes"
    )
    assert rendering.sentence(reasons[:2], CHINESE) == "減去平均值；結果符合預期"
    assert because.deciding(reasons) == because.AsContracted()
    assert because.deciding(reasons[:1]) is None


def test_threads_that_need_a_kind_of_reason_at_once_get_it_complete():
    code = (
        "import sys, threading; sys.setswitchinterval(1e-6)\n"
        "from minuend.runtimes.reasons import NotMeasured\n"
        "start, found = threading.Barrier(8), []\n"
        "def make(): start.wait(); found.append(NotMeasured('a') == NotMeasured(target='a'))\n"
        "threads = [threading.Thread(target=make) for _ in range(8)]\n"
        "[one.start() for one in threads], [one.join() for one in threads]\n"
        "assert found == [True] * 8, found\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], check=True)

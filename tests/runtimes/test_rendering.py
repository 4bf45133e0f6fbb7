"""Every reason as a sentence, in English and in Traditional Chinese: the one place where the wording is asserted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest

from minuend.language import Language
from minuend.models.patterns import Op, X, less
from minuend.models.ranges.interval import Range
from minuend.operators import SUBTRACT
from minuend.runtimes import reasons as because
from minuend.runtimes import rendering
from minuend.runtimes.answers import Witness
from minuend.runtimes.reasons import REASONS, Reason, Stated

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
    (because.DialectNotRead("tract", "OpenVINO"), "tract reads no OpenVINO models", "tract 不讀取 OpenVINO 模型"),
    (
        because.DialectNotRead("tract", "OpenVINO", to="onnx"),
        "tract reads no OpenVINO models; convert it first: minuend convert --to onnx",
        "tract 不讀取 OpenVINO 模型；請先轉換：minuend convert --to onnx",
    ),
    (
        because.DialectNotRead("tract", "OpenVINO", refusal="it is refused"),
        "tract reads no OpenVINO models, and it is refused",
        "tract 不讀取 OpenVINO 模型，而且 it is refused",
    ),
    (because.VersionNotLoaded("it is of opset 24"), "it is of opset 24", "it is of opset 24"),
    (because.NotInStandard("no rank 9"), "no rank 9", "no rank 9"),
    (because.SizesAssumed("no size is 0"), "no size is 0", "no size is 0"),
    (because.AsContracted(), "the contract's numbers", "結果符合規範"),
    (
        because.OutOfReach(("wraps", "beyond int32"), (), (A, B)),
        "values that wrap and values beyond int32 cannot occur: A is 128..255 (Clip), B is 0..127 (constant)",
        "迴繞的值、超出 int32 的值不可能出現：A 為 128..255（Clip），B 為 0..127（常數）",
    ),
    (
        because.OutOfReach((), (("negative zero", ZERO),), (A, B)),
        (
            "other operands than these alone make negative zero (-0.0 - 0.0 gives 0.0): A is 128..255 (Clip), B "
            "is 0..127 (constant)"
        ),
        "負零（-0.0 - 0.0 得 0.0）只會由其他運算元造成：A 為 128..255（Clip），B 為 0..127（常數）",
    ),
    (
        because.OutOfReach(("wraps",), (("nan", None),), (ASSUMED, Range(None))),
        (
            "values that wrap cannot occur; other operands than these alone make NaN, or a difference without a "
            "value: A is 128..255 (uint8 input), B is of an unknown type, where no dim is above 9"
        ),
        (
            "迴繞的值不可能出現；NaN 或沒有值的差只會由其他運算元造成：A 為 128..255（uint8 輸入），B 為 未知型別"
            "，其中 no dim is above 9"
        ),
    ),
    (because.ValuesDiffer(("negative zero",)), "negative zero differ", "負零的結果不同"),
    (
        because.ValuesDiffer(("wraps",), WRAPS, ("beyond int32", "in range"), (A, B)),
        (
            "values that wrap differ: 5 - 10 gives 0, expected 251; so do values beyond int32 and values in "
            "range; A is 128..255 (Clip), B is 0..127 (constant)"
        ),
        (
            "迴繞的值的結果不同：5 - 10 得 0，預期為 251；超出 int32 的值、範圍內的值亦然；A 為 128..255（Clip）"
            "，B 為 0..127（常數）"
        ),
    ),
    (
        because.OtherPairsDiffer(("wraps",), ("in range",), (A,)),
        (
            "values that wrap differ: other pairs of this kind were measured than these operands make; so do "
            "values in range; A is 128..255 (Clip)"
        ),
        ("迴繞的值的結果不同：實測的是同類的其他數值，這些運算元無法構成；範圍內的值亦然；A 為 128..255（Clip）"),
    ),
    (
        because.ResultDiffers("the result is of int32", ("wraps",)),
        "the result is of int32; so do values that wrap",
        "the result is of int32；迴繞的值亦然",
    ),
    (because.RuntimeMessage("no kernel"), "no kernel", "no kernel"),
    (
        because.NotMeasured(OV),
        "openvino-cpu@2026.4.1 was not measured for this",
        "openvino-cpu@2026.4.1 沒有這種情形的量測資料",
    ),
    (
        because.NotDeclared("directml@5.1"),
        "directml@5.1 was not declared for this",
        "directml@5.1 的文件沒有說明這種情形",
    ),
    (because.OtherOperandsDiffer(), "other operands than these are known to differ", "已知其他運算元的結果不同"),
    (because.PairsLikeItDiffer("5 - 10"), "pairs like 5 - 10 are known to differ", "已知類似 5 - 10 的運算結果不同"),
    (because.Undocumented(), "the documents do not say what these differences are", "文件未說明這些差為何"),
    (because.NothingStated(OV), "openvino-cpu@2026.4.1 says nothing of it", "openvino-cpu@2026.4.1 對此沒有說明"),
    (
        because.Concerns((("wraps", WRAPS), ("nan", None))),
        "this concerns values that wrap (5 - 10 gives 0) and NaN, or a difference without a value",
        "涉及：迴繞的值（5 - 10 得 0）、NaN 或沒有值的差",
    ),
    (
        because.DocumentsSilent(("nan", "infinite", "subnormal")),
        (
            "as far as documented: the documents say nothing of NaN, or a difference without a value, infinite "
            "operands and subnormal numbers"
        ),
        "僅以文件所載為限，文件未提及：NaN 或沒有值的差、無限大的運算元、次正規數",
    ),
    (
        because.ShapesAtRunTime("one-sided"),
        "the shapes are known when it runs; this holds for one-sided",
        "形狀在執行時才確定；此結果適用於「一個運算元廣播」",
    ),
    (
        because.FoldingDiffers((("none", WRAPS), ("both", "ok"))),
        ("constant folding changes this: other answers with no constants (5 - 10 gives 0) or both constant (ok)"),
        "常數折疊會改變結果，下列情形的結果不同：無常數（5 - 10 得 0）、兩者皆為常數（ok）",
    ),
    (
        because.ReleasesDiffer("1.1", OLDER, NEWER, ""),
        (
            "nobody measured 1.1, and 1.0 gives other numbers (5 - 10 gives 0), 1.2 gives the contract's "
            "numbers: the worse answer is taken"
        ),
        "1.1 未經量測，而 1.0 的數值不同（5 - 10 得 0），1.2 的結果符合規範：採用較差的結果",
    ),
    (
        because.ReleasesDiffer("1.1", OLDER, NEWER, "1.0"),
        (
            "nobody measured 1.1, and 1.0 gives other numbers (5 - 10 gives 0), 1.2 gives the contract's "
            "numbers: the answer of 1.0 is taken"
        ),
        "1.1 未經量測，而 1.0 的數值不同（5 - 10 得 0），1.2 的結果符合規範：採用 1.0 的結果",
    ),
    (
        because.PatternNotMeasured((PRODUCT, FOLDED), OV),
        "nobody measured Mul(x, x) - x and Mul(x, x) - x of constants on openvino-cpu@2026.4.1",
        "未經量測：openvino-cpu@2026.4.1 上的 Mul(x, x) - x、由常數構成的 Mul(x, x) - x",
    ),
    (
        because.PatternNotMeasured((PRODUCT,) * 5, OV, SETTING),
        (
            "nobody measured Mul(x, x) - x, Mul(x, x) - x and Mul(x, x) - x and 2 more on openvino-cpu@2026.4.1; "
            "with INFERENCE_PRECISION_HINT=f32 it was"
        ),
        (
            "未經量測：openvino-cpu@2026.4.1 上的 Mul(x, x) - x、Mul(x, x) - x、Mul(x, x) - x 及另外 2 個；設定 "
            "INFERENCE_PRECISION_HINT=f32 時則有量測資料"
        ),
    ),
    (
        because.PatternsNotMeasured(OV),
        "what openvino-cpu@2026.4.1 makes of neighbours was not measured",
        "openvino-cpu@2026.4.1 如何計算相鄰的運算子，未經量測",
    ),
    (
        because.DynamicShapesNotMeasured(OV),
        "what openvino-cpu@2026.4.1 makes of shapes that are known when it runs was not measured",
        "openvino-cpu@2026.4.1 如何計算執行時才確定的形狀，未經量測",
    ),
    (
        because.ZeroNotMeasured(OV),
        "what openvino-cpu@2026.4.1 makes of a constant 0, or one that is 0 in float32, was not measured",
        "openvino-cpu@2026.4.1 如何計算常數 0 或在 float32 中為 0 的常數，未經量測",
    ),
    (because.PatternRefused(PRODUCT, "no kernel"), "Mul(x, x) - x: no kernel", "Mul(x, x) - x：no kernel"),
    (
        because.PatternComputedOtherwise(PRODUCT),
        "Mul(x, x) - x is computed otherwise than each by itself",
        "Mul(x, x) - x 合併計算，結果與逐一計算不同",
    ),
    (
        because.PatternComputedOtherwise(PRODUCT, ("ordinary", "rounds")),
        (
            "Mul(x, x) - x is computed otherwise than each by itself: exact differences and differences that "
            "round differ"
        ),
        "Mul(x, x) - x 合併計算，結果與逐一計算不同：精確的差、需要捨入的差的結果不同",
    ),
    (
        because.PrecisionLower(PRODUCT, SETTING, ("rounds",)),
        (
            "Mul(x, x) - x is computed in less than its own precision: differences that round differ; not so "
            "with INFERENCE_PRECISION_HINT=f32"
        ),
        ("Mul(x, x) - x 以低於其型別的精度計算：需要捨入的差的結果不同；設定 INFERENCE_PRECISION_HINT=f32 即可避免"),
    ),
    (
        because.ConstantsNotRounded(FOLDED, "float16"),
        "Mul(x, x) - x of constants is computed in float32, and float16 is not rounded between the two",
        "由常數構成的 Mul(x, x) - x 以 float32 計算，兩個運算之間未捨入為 float16",
    ),
    (
        because.ConstantsMixedUp("float16", OV),
        (
            "another subtraction of this shape has another float16 constant, and openvino-cpu@2026.4.1 can "
            "compute one with the constant of the other; it does so for few pairs of constants, which nobody has "
            "listed"
        ),
        (
            "另一個同形狀的減法有不同的 float16 常數，而 openvino-cpu@2026.4.1 可能用其中一個的常數計算另一個；只"
            "有少數幾組常數會如此，目前沒有清單"
        ),
    ),
    (
        because.AnotherConstant(),
        "another subtraction of this shape has another constant",
        "另一個同形狀的減法有不同的常數",
    ),
    (
        because.ProbeRefused("no kernel"),
        "measured here: by itself it is refused: no kernel",
        "本機實測：單獨執行時遭到拒絕：no kernel",
    ),
    (
        because.ProbeResultDiffers("the result is of int32"),
        "measured here: by itself, the result is of int32",
        "本機實測：單獨執行時，the result is of int32",
    ),
    (
        because.ProbeDiffers(2, 40, WRAPS),
        ("measured here: by itself, 2 of 40 pairs of operands from its ranges differ, as 5 - 10 gives 0, expected 251"),
        "本機實測：單獨執行時，值域內的 40 組運算元中有 2 組結果不同，例如 5 - 10 得 0，預期為 251",
    ),
    (
        because.ProbeAgrees(40),
        "measured here: by itself, none of 40 pairs of operands from its ranges differs",
        "本機實測：單獨執行時，值域內的 40 組運算元結果全部相符",
    ),
    (
        because.ProbeAgrees(40, "patterns"),
        (
            "measured here: by itself, none of 40 pairs of operands from its ranges differs, which says nothing "
            "of its neighbours"
        ),
        "本機實測：單獨執行時，值域內的 40 組運算元結果全部相符，但未涵蓋相鄰的運算子",
    ),
    (
        because.ProbeAgrees(40, "shapes"),
        (
            "measured here: by itself, none of 40 pairs of operands from its ranges differs, on some of the "
            "shapes that it can have"
        ),
        "本機實測：單獨執行時，值域內的 40 組運算元結果全部相符，但只涵蓋部分可能的形狀",
    ),
    (
        because.RunAgrees(16),
        "in the run all 16 elements were the contract's, on these inputs",
        "這次執行以這些輸入得到的 16 個元素全部符合規範",
    ),
    (
        because.RunAloneAgrees(16),
        "in the run all 16 elements were the contract's, on these inputs alone",
        "這次執行得到的 16 個元素全部符合規範，但僅限於這些輸入",
    ),
    (because.RunDiffers(3, 4), "in the run 3 of 4 elements differed", "這次執行的 4 個元素中有 3 個不同"),
    (
        because.RunDiffers(3, 4, (0, 1), WRAPS),
        "in the run 3 of 4 elements differed, the first at index [0, 1]: 5 - 10 gives 0, expected 251",
        "這次執行的 4 個元素中有 3 個不同，第一個在索引 [0, 1]：5 - 10 得 0，預期為 251",
    ),
    (
        because.RunDiffers(3, 4, (), None, "0", "251"),
        "in the run 3 of 4 elements differed, the first at index []: got 0, expected 251",
        "這次執行的 4 個元素中有 3 個不同，第一個在索引 []：得 0，預期為 251",
    ),
    (
        because.RunTogetherDiffers(("graph.node[1] (Add)", "graph.node[2] (Relu)")),
        ("in the run it was computed with graph.node[1] (Add) and graph.node[2] (Relu), and what came of it differed"),
        "這次執行中，它與 graph.node[1] (Add)、graph.node[2] (Relu) 一起計算，所得的結果不同",
    ),
    (
        because.RunTogetherDiffers(("graph.node[1] (Add)",), (0, 1), "0", "251"),
        (
            "in the run it was computed with graph.node[1] (Add), and what came of it differed, the first at "
            "index [0, 1]: got 0, expected 251"
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
        "2 of 96 were computed with the constant of another",
        "96 個減法中有 2 個用了另一個減法的常數計算",
    ),
    (
        because.ReleaseBetween("tract@1.1", "1.0", "1.2"),
        (
            "nobody measured tract@1.1: it lies between 1.0 and 1.2, and what these two agree on is taken for "
            "its own; where they differ a finding says so"
        ),
        "tract@1.1 未經量測：它介於 1.0 與 1.2 之間，兩者一致之處即視為它的結果；兩者不同之處，判定會說明",
    ),
    (
        because.ReleaseTooNew("tract@2", "1.2"),
        (
            "warning: nobody measured tract@2: it lies beyond 1.2, the newest that was measured, and the answers "
            "are those of that release, which may not be its own; minuend measure asks an installed one"
        ),
        (
            "警告：tract@2 未經量測：它比已量測的最新版本 1.2 更新，以下為該版本的結果，不一定與它相同；已安裝的"
            "版本可用 minuend measure 量測"
        ),
    ),
    (
        because.ReleaseTooOld("tract@0", "1.0"),
        (
            "warning: nobody measured tract@0: it lies before 1.0, the oldest that was measured, and the answers "
            "are those of that release, which may not be its own; minuend measure asks an installed one"
        ),
        (
            "警告：tract@0 未經量測：它比已量測的最舊版本 1.0 更舊，以下為該版本的結果，不一定與它相同；已安裝的"
            "版本可用 minuend measure 量測"
        ),
    ),
    (
        because.SettingNeeded(OV, 1, SETTING, "f32"),
        (
            "on openvino-cpu@2026.4.1 1 subtraction is right only with INFERENCE_PRECISION_HINT=f32, which is "
            "not its default on processors with bfloat16 instructions; set it where the model is compiled, "
            "compile_model(model, \"CPU\", {'INFERENCE_PRECISION_HINT': 'f32'}), and judge with it: --hint f32"
        ),
        (
            "在 openvino-cpu@2026.4.1 上，1 個減法只有設定 INFERENCE_PRECISION_HINT=f32 才正確，而在具有 "
            'bfloat16 指令的處理器上，這不是預設值；請在編譯模型時設定：compile_model(model, "CPU", '
            "{'INFERENCE_PRECISION_HINT': 'f32'})，並以 --hint f32 判定"
        ),
    ),
    (
        because.SettingNeeded(OV, 2, SETTING, "f32"),
        (
            "on openvino-cpu@2026.4.1 2 subtractions are right only with INFERENCE_PRECISION_HINT=f32, which is "
            "not its default on processors with bfloat16 instructions; set it where the model is compiled, "
            "compile_model(model, \"CPU\", {'INFERENCE_PRECISION_HINT': 'f32'}), and judge with it: --hint f32"
        ),
        (
            "在 openvino-cpu@2026.4.1 上，2 個減法只有設定 INFERENCE_PRECISION_HINT=f32 才正確，而在具有 "
            'bfloat16 指令的處理器上，這不是預設值；請在編譯模型時設定：compile_model(model, "CPU", '
            "{'INFERENCE_PRECISION_HINT': 'f32'})，並以 --hint f32 判定"
        ),
    ),
    (
        because.MeasuredOn("a CPU", (), (OV,)),
        "measured on a CPU: openvino-cpu@2026.4.1",
        "量測於 a CPU：openvino-cpu@2026.4.1",
    ),
    (
        because.MeasuredOn("a CPU", ("another",), (OV, "tract@1.0")),
        "measured on a CPU, beside neighbours on another: openvino-cpu@2026.4.1 and tract@1.0",
        "量測於 a CPU，相鄰運算子量測於 another：openvino-cpu@2026.4.1、tract@1.0",
    ),
    (
        because.ProcessorMatters(
            "openvino-cpu",
            "rounds bfloat16 where the processor has avx512f; with avx2 alone it cuts off: 0.1 - 0.5 gives -0.398",
        ),
        (
            "openvino-cpu rounds bfloat16 where the processor has avx512f; with avx2 alone it cuts off: 0.1 - "
            "0.5 gives -0.398"
        ),
        "openvino-cpu 在具有 avx512f 的處理器上會捨入 bfloat16；僅有 avx2 時則直接捨去：0.1 - 0.5 得 -0.398",
    ),
]

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
    known = {one.name for one in fields(kind)} | ({"options"} if code == "setting-needed" else set())
    assert set(rendering.slots(clause)) <= known
    fixed = clause.split("{", maxsplit=1)[0].strip(" ;:,")
    assert any(fixed in english for reason, english, _ in SENTENCES if reason.code == code)


def test_every_text_is_translated() -> None:
    language = Language("zh_TW")
    for text in rendering.texts():
        language.tr(text)
    for reason, *_ in SENTENCES:
        rendering.sentence([reason], language)
    assert set(language.missing()) == {"{message}", "{purpose}", "{statement}"}  # nothing but a fact


def test_reasons_are_joined_and_the_first_that_decides_gives_the_code() -> None:
    reasons = (because.Purpose("mean subtraction"), because.AsContracted(), because.ShapesAtRunTime("same"))
    assert rendering.english(reasons) == (
        "mean subtraction; the contract's numbers; the shapes are known when it runs; this holds for same shapes"
    )
    assert rendering.sentence(reasons[:2], CHINESE) == "減去平均值；結果符合規範"
    assert because.deciding(reasons) == because.AsContracted()
    assert because.deciding(reasons[:1]) is None

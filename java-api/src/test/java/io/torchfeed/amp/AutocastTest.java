// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.amp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.testing.GoldenLine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@SuppressWarnings("try") // a scope works by being open
class AutocastTest {
  @ParameterizedTest
  @EnumSource(names = {"BFLOAT16", "FLOAT16"})
  void resultsAreThoseOfPython(DType dtype) {
    List<String> lines = GoldenLine.read("mixed_precision.txt");
    int start = lines.indexOf("autocast cpu " + dtype.name().toLowerCase(Locale.ROOT));
    Map<String, Tensor> results = results(dtype);
    assertThat(lines.subList(start + 1, start + 1 + results.size()))
        .containsExactlyElementsOf(
            results.entrySet().stream()
                .map(each -> each.getKey() + " " + described(each.getValue()))
                .collect(Collectors.toList()));
  }

  private static Map<String, Tensor> results(DType dtype) {
    Tensor a = torch.arange(new Scalar(12)).to(ScalarType.Float).view(3, 4).div(new Scalar(4.0));
    Tensor b =
        torch
            .arange(new Scalar(8))
            .to(ScalarType.Float)
            .view(4, 2)
            .div(new Scalar(2.0))
            .sub(new Scalar(1.0));
    Tensor bias = Tensor.create(new float[] {0.5f, -0.5f}, 2);
    Map<String, Tensor> results = new LinkedHashMap<>();
    try (Autocast scope = Autocast.on("cpu", dtype)) {
      Tensor product = a.matmul(b);
      results.put("matmul", product);
      results.put("linear", torch.linear(a, b.t(), new TensorOptional(bias)));
      results.put("add", product.add(a.narrow(1, 0, 2)));
      results.put("relu", product.relu());
      results.put("mse_loss", torch.mse_loss(product, torch.zeros_like(product)));
      try (Autocast off = Autocast.off("cpu")) {
        results.put("disabled", a.matmul(b));
      }
      results.put("nested", a.matmul(b));
    }
    results.put("after", a.matmul(b));
    return results;
  }

  private static String described(Tensor tensor) {
    String dtype = DType.of(tensor.scalar_type()).name().toLowerCase(Locale.ROOT);
    Tensor values = tensor.to(ScalarType.Float).contiguous();
    return IntStream.range(0, (int) values.numel())
        .mapToObj(i -> pythonHex(values.data_ptr_float().get(i)))
        .collect(Collectors.joining(" ", dtype + " ", ""));
  }

  /** Writes a number as Python's {@code float.hex}. */
  private static String pythonHex(double value) {
    String text = Double.toHexString(value);
    int point = text.indexOf('.') + 1;
    int exponent = text.indexOf('p');
    int power = Integer.parseInt(text.substring(exponent + 1));
    String digits = text.substring(point, exponent);
    return text.substring(0, point)
        + digits
        + "0".repeat(13 - digits.length())
        + "p"
        + (power < 0 ? "" : "+")
        + power;
  }

  @Test
  void aScopeConvertsParametersOnceAndGivesGradientsOfTheirDtype() {
    Tensor weight = torch.ones(new long[] {2, 2}).requires_grad_(true);
    Tensor loss;
    try (Autocast scope = Autocast.on("cpu", DType.BFLOAT16)) {
      loss = weight.matmul(weight).sum();
    }
    loss.backward();
    assertThat(weight.grad().scalar_type().intern()).isEqualTo(ScalarType.Float);
    assertThat(weight.grad().data_ptr_float().get(0)).isEqualTo(4f);
  }

  @Test
  void aChangedParameterIsConvertedAgainInTheNextScope() {
    Tensor weight = torch.ones(new long[] {2, 2}).requires_grad_(true);
    List<Float> sums = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      try (Autocast scope = Autocast.on("cpu", DType.BFLOAT16)) {
        sums.add(weight.matmul(weight).sum().item_float());
      }
      weight.detach().fill_(new Scalar(2.0));
    }
    assertThat(sums).containsExactly(8f, 32f);
  }

  @Test
  void anEndedScopeRestoresTheDtype() {
    ScalarType before = torch.get_autocast_dtype(DeviceType.CPU);
    Autocast scope = Autocast.on("cpu", DType.FLOAT16);
    assertThat(torch.get_autocast_dtype(DeviceType.CPU).intern()).isEqualTo(ScalarType.Half);
    scope.close();
    scope.close();
    assertThat(torch.get_autocast_dtype(DeviceType.CPU).intern()).isEqualTo(before.intern());
    assertThat(torch.is_autocast_enabled(DeviceType.CPU)).isFalse();
  }

  @Test
  void aScopeCannotEndBeforeThoseInsideOfIt() {
    Autocast outer = Autocast.on("cpu", DType.BFLOAT16);
    Autocast inner = Autocast.off("cpu");
    assertThatIllegalStateException()
        .isThrownBy(outer::close)
        .withMessage("close the scopes of Autocast inside of this one first");
    inner.close();
    assertThat(torch.is_autocast_enabled(DeviceType.CPU)).isTrue();
    outer.close();
    assertThat(torch.is_autocast_enabled(DeviceType.CPU)).isFalse();
  }

  @Test
  void anotherThreadCannotEndAScope() throws InterruptedException {
    List<Throwable> thrown = new ArrayList<>();
    try (Autocast scope = Autocast.on("cpu", DType.BFLOAT16)) {
      Thread thread = new Thread(scope::close);
      thread.setUncaughtExceptionHandler((failed, e) -> thrown.add(e));
      thread.start();
      thread.join();
      assertThat(torch.is_autocast_enabled(DeviceType.CPU)).isTrue();
    }
    assertThat(thrown).hasSize(1);
    assertThat(thrown.get(0))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("must be closed by the thread that began it");
  }

  @Test
  void invalidArgumentsAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Autocast.on("cpu", DType.FLOAT32))
        .withMessage("dtype must be BFLOAT16 or FLOAT16, got FLOAT32");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Autocast.on("gpu", DType.BFLOAT16))
        .withMessage("device must be a name like cuda:0, got 'gpu'");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Autocast.off("meta"))
        .withMessage("libtorch has no autocast for the device meta");
    assertThatThrownBy(() -> Autocast.on("cuda:99", DType.FLOAT16))
        .hasMessageStartingWith("device cuda:99: ");
    assertThat(torch.is_autocast_enabled(DeviceType.CUDA)).isFalse();
  }
}

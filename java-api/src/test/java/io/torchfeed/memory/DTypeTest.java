// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DTypeTest {
  @ParameterizedTest
  @EnumSource
  void sizesAreThoseOfLibtorch(DType dtype) {
    try (TensorOptions options = new TensorOptions(dtype.scalarType());
        Tensor tensor = torch.empty(new long[] {1}, options, null)) {
      assertThat(dtype.bytes()).isEqualTo(Math.toIntExact(tensor.element_size()));
      assertThat(dtype.unitBytes() * (tensor.is_complex() ? 2 : 1)).isEqualTo(dtype.bytes());
      assertThat(DType.of(tensor.scalar_type())).isEqualTo(dtype); // a distinct object
    }
  }

  @ParameterizedTest
  @EnumSource
  void everyTypeOfNumbersIsKnown(ScalarType scalarType) {
    if (scalarType.name().matches("QU?Int.*|Bits.*|U?Int[1-7]|Float4.*|Undefined|NumOptions")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DType.of(scalarType))
          .withMessageStartingWith("dtype must be one of bool, uint8, uint16, ")
          .withMessageEndingWith("complex128, got " + scalarType);
    } else {
      assertThat(DType.of(scalarType).scalarType()).isSameAs(scalarType);
    }
  }

  @Test
  void rowsMayBeLongerThanTheRowsOfASlab() {
    RowSpec row = RowSpec.of(DType.COMPLEX128, 1L << 30, 1 << 10);
    assertThat(row.elements()).isEqualTo(1L << 40);
    assertThat(row.bytes()).isEqualTo(1L << 44);
    assertThat(row).hasToString("complex128 [1073741824, 1024]");
    assertThat(RowSpec.of(DType.UINT8, 1L << 62, 0).bytes()).isZero();
    assertThat(RowSpec.of(DType.UINT8, Long.MAX_VALUE).bytes()).isEqualTo(Long.MAX_VALUE);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RowSpec.of(DType.UINT16, 1L << 62))
        .withMessage("a row must have fewer than 2^63 bytes, got [4611686018427387904] of UINT16");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RowSpec.of(DType.FLOAT32, -1))
        .withMessage("dimensions must be at least 0, got [-1]");
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.torchfeed;
import java.util.Collections;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SlabTest {
  private static void putOne(Slab slab, DType dtype) {
    switch (dtype) {
      case BOOL, UINT8, INT8 -> slab.put(0, 3, new byte[] {9, 1}, 1, 1);
      case FLOAT8_E4M3FN -> slab.put(0, 3, new byte[] {9, 0x38}, 1, 1);
      case FLOAT8_E4M3FNUZ, FLOAT8_E5M2FNUZ -> slab.put(0, 3, new byte[] {9, 0x40}, 1, 1);
      case FLOAT8_E5M2 -> slab.put(0, 3, new byte[] {9, 0x3c}, 1, 1);
      case FLOAT8_E8M0FNU -> slab.put(0, 3, new byte[] {9, 0x7f}, 1, 1);
      case FLOAT16 -> slab.put(0, 3, new short[] {9, 0x3c00}, 1, 1);
      case BFLOAT16 -> slab.put(0, 3, new short[] {9, 0x3f80}, 1, 1);
      case INT16, UINT16 -> slab.put(0, 3, new short[] {9, 1}, 1, 1);
      case INT32, UINT32 -> slab.put(0, 3, new int[] {9, 1}, 1, 1);
      case INT64, UINT64 -> slab.put(0, 3, new long[] {9, 1}, 1, 1);
      case FLOAT32 -> slab.put(0, 3, new float[] {9, 1}, 1, 1);
      case FLOAT64 -> slab.put(0, 3, new double[] {9, 1}, 1, 1);
      case COMPLEX32, COMPLEX64, COMPLEX128 -> throw new AssertionError(dtype);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.MATCH_NONE, names = "COMPLEX.*")
  void writesAreVisibleInEachDtype(DType dtype) {
    try (Slab slab = Slab.allocate(List.of(RowSpec.of(dtype, 2)), 4)) {
      putOne(slab, dtype);
      try (Tensor view = slab.view(0, 3)) {
        assertThat(view.sizes().vec().get()).containsExactly(3, 2);
        assertThat(view.scalar_type().intern()).isEqualTo(dtype.scalarType());
        assertThat(view.to(torch.ScalarType.Double).get(1).get(1).item_double()).isEqualTo(1.0);
      }
    }
  }

  @Test
  void aSlabIsFreeWhenNoTensorViewsIt() {
    long objects = torchfeed.live_objects();
    Slab slab = Slab.allocate(List.of(RowSpec.of(DType.FLOAT32), RowSpec.of(DType.UINT8, 3)), 2);
    assertThat(slab.isFree()).isTrue();
    Tensor view = slab.view(1, 2);
    assertThat(slab.isFree()).isFalse();
    view.close();
    assertThat(slab.isFree()).isTrue();
    slab.put(1, 0, new byte[] {1, 2, 3}, 0, 3);
    try (Tensor last = slab.view(1, 1)) {
      slab.close();
      slab.close();
      assertThat(last.get(0).get(2).item_int()).isEqualTo(3);
    }
    assertThat(torchfeed.live_objects()).isEqualTo(objects);
    assertThatIllegalStateException()
        .isThrownBy(() -> slab.view(0, 1))
        .withMessage("Slab is closed");
    assertThatIllegalStateException().isThrownBy(slab::isFree);
    assertThatIllegalStateException().isThrownBy(() -> slab.put(0, 0, new float[1], 0, 1));
  }

  @Test
  void writesOutsideAColumnAreRefused() {
    try (Slab slab =
        Slab.allocate(List.of(RowSpec.of(DType.INT64, 0), RowSpec.of(DType.INT64)), 2)) {
      long[] three = new long[3];
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> slab.put(1, 0, three, 0, 3));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> slab.put(1, -1, three, 0, 1));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> slab.put(0, 0, three, 0, 1));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> slab.put(2, 0, three, 0, 1));
      assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> slab.view(2, 1));
      assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> slab.view(1, 3));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> slab.put(1, 0, new float[1], 0, 1))
          .withMessage("column 1 is int64 [], which a FloatBuffer cannot hold");
      try (Tensor nothing = slab.view(0, 2)) {
        assertThat(nothing.sizes().vec().get()).containsExactly(2, 0);
      }
    }
  }

  @Test
  void invalidSlabsAreRefused() {
    List<RowSpec> bytes = List.of(RowSpec.of(DType.UINT8, 1 << 20));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Slab.allocate(bytes, 2048))
        .withMessageContaining("fewer than 2^31 bytes, got 2048 rows of uint8 [1048576]");
    assertThatIllegalArgumentException().isThrownBy(() -> Slab.allocate(bytes, 0));
    assertThatIllegalArgumentException().isThrownBy(() -> Slab.allocate(List.of(), 1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Slab.allocate(List.of(RowSpec.of(DType.FLOAT32, 1 << 15, 1 << 15)), 1))
        .withMessage("a row must have fewer than 2^31 bytes, got [32768, 32768] of FLOAT32");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Slab.bytes(List.of(RowSpec.of(DType.UINT8, Long.MAX_VALUE)), 2))
        .withMessageContaining("a row must have fewer than 2^31 bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Slab.allocate(List.of(RowSpec.of(DType.COMPLEX64, 3)), 1))
        .withMessage(
            "a column of a slab must not be complex, got complex64 [3] in column 0; write its real"
                + " and imaginary parts as a column [..., 2], and use view_as_complex");
    // more than an address space has: a system may promise any memory below that
    List<RowSpec> many = Collections.nCopies(1 << 18, RowSpec.of(DType.UINT8, 1 << 30));
    assertThatIllegalStateException()
        .isThrownBy(() -> Slab.allocate(many, 1))
        .withMessageContaining("could not be allocated");
  }
}

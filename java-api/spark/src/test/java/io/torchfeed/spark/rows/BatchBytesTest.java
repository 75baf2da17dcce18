// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.RowColumn;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Tests of the memory of batches. */
class BatchBytesTest {
  private final RowColumn column = RowColumn.of("x", DType.UINT8, 1 << 23);

  @Test
  void aBatchThatFitsNoArrayIsRefused() {
    assertThat(ModelSchema.batchBytes(column, 255)).isEqualTo(255 << 23);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ModelSchema.batchBytes(column, 256))
        .withMessage(
            "256 rows of column x, the batch size of the model, must have at most 2147483639"
                + " bytes, which fit into a Java array, got 2147483648");
  }

  @Test
  void anOutputThatFitsNoArrayIsRefused() {
    try (PointerScope scope = new PointerScope()) {
      Tensor output = torch.ones(1).to(torch.ScalarType.Byte).expand(256, 1 << 23); // of one byte
      assertThatIllegalArgumentException()
          .isThrownBy(() -> BatchOutput.of(column, output, 256))
          .withMessageStartingWith("256 rows of column x");
    }
  }
}

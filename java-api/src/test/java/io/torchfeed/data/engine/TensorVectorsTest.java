// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class TensorVectorsTest {
  private final TensorVectors vectors = new TensorVectors();
  private final List<Long> filled = new ArrayList<>(); // addresses of the vectors

  @AfterEach
  void close() {
    vectors.close();
  }

  private Consumer<TensorVector> with(long... values) {
    return vector -> {
      filled.add(vector.address());
      for (long value : values) {
        try (Tensor tensor = Tensor.create(value)) {
          vector.push_back(tensor);
        }
      }
    };
  }

  private static void assertHolds(Tensor[] tensors, long... values) {
    assertThat(tensors).extracting(tensor -> tensor.item().toLong()).containsExactly(box(values));
  }

  private static Long[] box(long... values) {
    return Arrays.stream(values).boxed().toArray(Long[]::new);
  }

  private static void closeAll(Tensor... tensors) {
    for (Tensor tensor : tensors) {
      tensor.close();
    }
  }

  @Test
  void aVectorIsReusedOnceAllItsTensorsAreClosed() {
    for (long batch = 0; batch < 5; batch++) {
      Tensor[] tensors = vectors.filled(with(batch, -batch));
      assertHolds(tensors, batch, -batch);
      tensors[1].close();
      tensors[1].close(); // silent
      assertThat(tensors[1].isNull()).isTrue();
      assertThat(tensors[0].item().toLong()).isEqualTo(batch);
      tensors[0].close();
    }
    assertThat(filled).hasSize(5).containsOnly(filled.get(0));
  }

  @Test
  void concurrentBatchesHaveSeparateVectors() {
    Tensor[] first = vectors.filled(with(1, 2));
    Tensor[] second = vectors.filled(with(3, 4));
    assertHolds(first, 1, 2);
    assertHolds(second, 3, 4);
    first[0].close(); // the other one is still open
    Tensor[] third = vectors.filled(with(5, 6));
    assertThat(first[1].item().toLong()).isEqualTo(2);
    closeAll(first);
    closeAll(second);
    assertHolds(third, 5, 6);
    closeAll(third);
    assertThat(filled).doesNotHaveDuplicates();
  }

  @Test
  void aVectorThatCouldNotBeFilledIsReused() {
    Consumer<TensorVector> halfWay = with(1);
    assertThatIllegalStateException()
        .isThrownBy(
            () ->
                vectors.filled(
                    vector -> {
                      halfWay.accept(vector);
                      throw new IllegalStateException("half way");
                    }));
    Tensor[] tensors = vectors.filled(with(2, 3));
    assertHolds(tensors, 2, 3);
    closeAll(tensors);
    assertThat(filled).hasSize(2).containsOnly(filled.get(0));
  }

  @Test
  void aBatchOutlivesItsEngine() {
    Tensor[] tensors = vectors.filled(with(7, 8));
    vectors.close();
    assertHolds(tensors, 7, 8);
    closeAll(tensors);
    assertThat(tensors[0].isNull()).isTrue();
  }
}

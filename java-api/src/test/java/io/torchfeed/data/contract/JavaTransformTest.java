// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.Counters;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of transforms of batches of Java samples. */
class JavaTransformTest extends BatchTransformContract {
  JavaTransformTest() {
    super(RowData::samples);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void transformsApplyToStreams(int workers) {
    Counters data = Counters.of(5, 3);
    try (DataLoader loader =
        DataLoader.over(data)
            .batchSize(2)
            .workers(workers)
            .transform(
                (tensors, random) ->
                    new Tensor[] {tensors[0].neg(), Tensor.create(random.nextLong(), 0L)})
            .build()) {
      List<Long> random = new ArrayList<>();
      List<List<Long>> values = new ArrayList<>();
      try (Batches pass = loader.epoch(0)) {
        for (Batch batch : pass) {
          values.add(Counters.longs(batch, 0).stream().map(value -> -value).toList());
          random.add(Rows.longs(batch.tensor(1))[0]);
        }
      }
      assertThat(values).isEqualTo(data.expected(2, Part.whole()));
      assertThat(random).doesNotHaveDuplicates();
    }
    assertThat(data.open()).hasValue(0);
  }
}

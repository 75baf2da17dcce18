// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.table.CategoryColumn;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableTensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java code of FROM_PYTORCH.md on tables; see {@link GuideTest}. */
class GuideTableTest {
  private final List<Long> seen = new ArrayList<>();

  private void train(Tensor labels) {
    for (long i = 0; i < labels.numel(); i++) {
      seen.add(labels.select(0, i).item_long());
    }
  }

  @Test
  void aCsvFileIsRead(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("flowers.csv");
    Files.writeString(file, "length,width,kind\n5.1,3.5,rose\n6.2,NA,lily\n7.7,3.8,rose\n");
    // guide: csv
    TableColumns columns =
        TableColumns.of(
            TableTensor.features("x", NumberColumn.of("length", "width").withMissingMean()),
            TableTensor.categories("kind", CategoryColumn.of("kind")));
    TableRows rows = CsvFile.of(file).withMissingWords("NA").read(columns);
    FittedColumns fitted = rows.fit(); // or of the training rows alone
    try (TensorDataset data = rows.dataset(fitted);
        DataLoader loader =
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(data.size(), 42))
                .batchSize(2)
                .build()) {
      for (Batch batch : loader.epoch(0)) {
        train(batch.tensor("kind")); // 0 is "lily", 1 "rose"; the sizes are batch.tensor("x")
      }
    }
    // guide: end
    assertThat(seen).containsExactlyInAnyOrder(0L, 1L, 1L);
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.checkpoint.SafetensorsFile;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.data.token.TokenFile;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.CachedFiles;
import io.torchfeed.storage.CachedSource;
import io.torchfeed.storage.ReadAhead;
import io.torchfeed.storage.S3Bucket;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Readers of objects, through a cache and ahead of them: they read the same as from local files.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class S3ReadersTest {
  private static final S3Server SERVER = S3Server.start();

  private final Path folder;
  private final S3Bucket bucket = SERVER.bucket("training-data");

  S3ReadersTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @AfterAll
  static void stop() throws Exception {
    SERVER.close();
  }

  /** Returns an object with the bytes of a file. */
  private ByteSource uploaded(Path file) throws IOException {
    String key = "2026/" + file.getFileName();
    SERVER.put("training-data", key, Files.readAllBytes(file));
    return ReadAhead.of(
        CachedSource.of(bucket.source(key), folder.resolve("cache"), 1 << 20, 3000), 2000, 4);
  }

  private static byte[] bytes(Tensor tensor) {
    byte[] bytes = new byte[(int) tensor.nbytes()];
    new BytePointer(tensor.data_ptr()).get(bytes);
    return bytes;
  }

  private Path csv() throws IOException {
    StringBuilder csv = new StringBuilder("x,y,label\n");
    for (int i = 0; i < 3000; i++) {
      csv.append("%d.5,%d,%d%n".formatted(i, -i, i % 10));
    }
    return Files.writeString(folder.resolve("train.csv"), csv, UTF_8);
  }

  private static List<Object> batches(CsvFile csv) {
    List<Object> all = new ArrayList<>();
    try (TensorDataset rows =
            csv.load(
                CsvFile.CsvColumn.of(DType.FLOAT32, "x", "y"),
                CsvFile.CsvColumn.of(DType.INT64, "label"));
        DataLoader loader =
            DataLoader.over(rows)
                .sampler(ShuffledSampler.of(rows.size(), 5))
                .batchSize(64)
                .build();
        Batches batches = loader.epoch(1)) {
      for (Batch batch : batches) {
        all.add(batch.indices());
        all.add(bytes(batch.tensor(0)));
        all.add(bytes(batch.tensor(1)));
      }
    }
    return all;
  }

  @Test
  void rowsOfCsvEqualThoseOfTheFile() throws IOException {
    Path file = csv();
    List<Object> expected = batches(CsvFile.of(file));
    assertThat(expected).hasSize(47 * 3);
    for (int i = 0; i < 2; i++) { // then from the cache
      try (ByteSource source = uploaded(file)) {
        assertThat(batches(CsvFile.of(source))).usingRecursiveComparison().isEqualTo(expected);
      }
    }
  }

  @Test
  void linesOfRanksEqualThoseOfTheFile() throws IOException {
    Path file = csv();
    try (ByteSource source = uploaded(file)) {
      TextPartition plan = TextPartition.of(List.of(source), 3);
      List<String> lines = new ArrayList<>();
      for (int rank = 0; rank < 3; rank++) {
        try (LineCursor cursor = plan.open(rank)) {
          while (cursor.next()) {
            lines.add(cursor.text());
          }
        }
      }
      assertThat(lines).isEqualTo(Files.readAllLines(file));
    }
  }

  @Test
  void tensorsEqualThoseOfTheFile() throws IOException {
    Path file = folder.resolve("model.safetensors");
    float[] values = new float[5000];
    for (int i = 0; i < values.length; i++) {
      values[i] = i / 7f;
    }
    try (Tensor weight = Tensor.create(values, 50, 100)) {
      SafetensorsFile.write(file, Map.of("net.weight", weight), Map.of());
      try (ByteSource source = uploaded(file);
          SafetensorsFile saved = SafetensorsFile.open(source);
          Tensor read = saved.read("net.weight")) {
        assertThat(read.sizes().vec().get()).containsExactly(50, 100);
        assertThat(bytes(read)).isEqualTo(bytes(weight));
      }
    }
  }

  @Test
  void tokensAreReadFromFilesOfTheCache() throws IOException {
    byte[] ids = new byte[4000];
    for (int i = 0; i < ids.length; i += 2) {
      ids[i] = (byte) (i / 3);
    }
    Path file = Files.write(folder.resolve("train.bin"), ids);
    uploaded(file).close();
    try (CachedFiles files = CachedFiles.of(folder.resolve("files"), 1 << 20)) {
      Path copy = files.path(bucket.source("2026/train.bin"));
      assertThat(windows(copy)).usingRecursiveComparison().isEqualTo(windows(file));
    }
  }

  private static List<Object> windows(Path file) {
    List<Object> all = new ArrayList<>();
    try (var windows = TokenFile.raw(DType.UINT16, file).windows(17);
        DataLoader loader =
            DataLoader.over(windows)
                .sampler(ShuffledSampler.of(windows.size(), 5))
                .batchSize(8)
                .build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        all.add(bytes(batch.tensor(0)));
      }
    }
    assertThat(all).isNotEmpty();
    return all;
  }
}

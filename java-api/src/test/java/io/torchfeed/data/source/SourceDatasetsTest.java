// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.RowFiles;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.token.TokenFile;
import io.torchfeed.data.token.TokenWriter;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.CachedFiles;
import io.torchfeed.storage.FaultServer;
import io.torchfeed.storage.HttpSource;
import io.torchfeed.storage.S3Bucket;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of datasets over objects: their batches, orders and states equal local files'. */
class SourceDatasetsTest {
  private static final List<String> IMAGES =
      List.of("cat/420.jpg", "cat/rgba.png", "dog/lossy.webp", "dog/cmyk.jpg", "dog/grey.jpg");
  private static final int ROWS = 20;

  private final ImagePlan plan = ImagePlan.builder().resize(12, 10).build();
  private final FaultServer server = new FaultServer(new byte[0]);
  private Path root = Path.of("");

  SourceDatasetsTest() throws IOException {
    server.headers.put("ETag", "\"one\"");
  }

  /** The place of the files of a dataset. */
  private interface Place {
    Path path(String name) throws IOException;

    Path folder(List<String> names) throws IOException;
  }

  private enum Kind {
    NPY,
    NPZ,
    RAW,
    RECORDS,
    TAR,
    TOKENS,
    MEGATRON,
    LIST,
    FOLDER
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  @BeforeEach
  void makeFiles(@TempDir Path temporary) throws IOException {
    root = Files.createDirectories(temporary.resolve("files"));
    byte[] rows =
        RowFiles.npy(1, "{'descr': '<i2', 'fortran_order': False, 'shape': (20, 3)}", 6 * ROWS);
    for (int i = 0; i < 6 * ROWS; i++) {
      rows[rows.length - 1 - i] = (byte) (7 * i);
    }
    Files.write(root.resolve("rows.npy"), rows);
    Files.write(root.resolve("rows.bin"), rows);
    writeZip(root.resolve("rows.npz"), rows);
    for (String name : IMAGES) {
      copyGolden(name.substring(4), root.resolve("images").resolve(name));
    }
    ImageRecords.write(
        ImageList.of(root.resolve("images")), root.resolve("images.records"), done -> {});
    copyGolden("ustar.tar", root.resolve("1.tar"));
    copyGolden("gnu.tar", root.resolve("2.tar"));
    Stream<long[]> documents =
        IntStream.range(1, 30).mapToObj(i -> IntStream.range(0, i).asLongStream().toArray());
    TokenWriter.write(root.resolve("c4.bin"), DType.UINT16, documents);
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        server.others.put("/data/" + root.relativize(file), Files.readAllBytes(file));
      }
    }
  }

  private static void writeZip(Path file, byte[] rows) throws IOException {
    ZipEntry entry = new ZipEntry("x.npy");
    entry.setMethod(ZipEntry.STORED);
    entry.setSize(rows.length);
    CRC32 sum = new CRC32();
    sum.update(rows);
    entry.setCrc(sum.getValue());
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
      zip.putNextEntry(entry);
      zip.write(rows);
    }
  }

  private static void copyGolden(String name, Path to) throws IOException {
    Files.createDirectories(to.resolveSibling("."));
    try (InputStream golden = Rows.class.getResourceAsStream("/golden/images/" + name)) {
      Files.copy(requireNonNull(golden, name), to);
    }
  }

  private NativeDataset open(Kind kind, Place at) throws IOException {
    RowLayout layout =
        RowLayout.of(DType.INT16, 3).withOffsetBytes(Files.size(root.resolve("rows.bin")) % 6);
    return switch (kind) {
      case NPY -> FileDataset.of(FileColumn.npy(at.path("rows.npy")));
      case NPZ -> FileDataset.of(FileColumn.npz("x", at.path("rows.npz")));
      case RAW -> FileDataset.of(FileColumn.raw(layout, at.path("rows.bin")));
      case RECORDS -> ImageRecords.open(at.path("images.records"), plan);
      case TAR -> ImageTar.open(List.of(at.path("1.tar"), at.path("2.tar")), plan);
      case TOKENS -> TokenFile.raw(DType.UINT16, at.path("c4.bin")).windows(9, 4);
      case MEGATRON ->
          TokenFile.megatron(at.folder(List.of("c4.bin", "c4.idx")).resolve("c4.bin"))
              .documentWindows(5, 3);
      case LIST -> {
        Path folder = at.folder(IMAGES.stream().map(name -> "images/" + name).toList());
        yield ImageFolder.of(ImageList.of(folder), plan);
      }
      case FOLDER ->
          ImageFolder.open(at.folder(IMAGES.stream().map(name -> "images/" + name).toList()), plan);
    };
  }

  /** Returns the order, the bytes and the state in the middle of two epochs. */
  private static List<Object> batches(NativeDataset data) {
    List<Object> all = new ArrayList<>();
    try (data;
        DataLoader loader =
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(data.size(), 5))
                .batchSize(2)
                .build()) {
      for (int epoch = 0; epoch < 2; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            all.add(batch.indices());
            for (int i = 0; i < data.columns().size(); i++) {
              all.add(RowFiles.bytesOf(batch.tensor(i)));
            }
            all.add(batches.state().toJson());
          }
        }
      }
    }
    return all;
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void batchesOfObjectsEqualThoseOfFiles(Kind kind) throws IOException {
    List<Object> expected =
        batches(
            open(
                kind,
                new Place() {
                  @Override
                  public Path path(String name) {
                    return root.resolve(name);
                  }

                  @Override
                  public Path folder(List<String> names) {
                    return names.get(0).startsWith("images/") ? root.resolve("images") : root;
                  }
                }));
    assertThat(expected).hasSizeGreaterThan(9);
    S3Bucket bucket =
        S3Bucket.of("data").withEndpoint(server.uri("")).withPathStyle(true).withoutCredentials();
    try (CachedFiles files = CachedFiles.of(root.resolveSibling("cache"), 1 << 24)) {
      Place objects =
          new Place() {
            @Override
            public Path path(String name) throws IOException {
              return files.path(HttpSource.of(server.uri("/data/" + name)));
            }

            @Override
            public Path folder(List<String> names) throws IOException {
              return files.folder(names.stream().<ByteSource>map(bucket::source).toList());
            }
          };
      NativeDataset data = open(kind, objects);
      assertThat(batches(data)).usingRecursiveComparison().isEqualTo(expected);
      server.faults.clear();
      int before = server.requests.size();
      assertThat(batches(open(kind, objects))).usingRecursiveComparison().isEqualTo(expected);
      assertThat(server.requests.subList(before, server.requests.size())) // asks for versions only
          .allSatisfy(each -> assertThat(each.header("Range")).isEqualTo("bytes=0-0"));
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.ImageList;
import io.torchfeed.data.source.ImageRecords;
import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.Digraph;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.GraphFile;
import io.torchfeed.graph.IdMap;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;

/** A graph file, a record file and the state of a loader, which the other libtorch reads. */
final class LinesFiles {
  private static final Path IMAGES = Path.of("src", "test", "resources", "golden", "images");
  private static final ImagePlan PLAN =
      ImagePlan.builder().randomResizedCrop(16, 16).horizontalFlip(0.5).build();
  private static final int BATCH = 2;

  private final Path graph;
  private final Path edges;
  private final Path records;
  private final Path position;

  LinesFiles(Path folder) {
    graph = folder.resolve("graph");
    edges = folder.resolve("edges.txt");
    records = folder.resolve("images.records");
    position = folder.resolve("position.json");
  }

  private Digraph parsed() throws IOException {
    Files.writeString(
        edges,
        IntStream.range(0, 5000)
            .mapToObj(i -> i * 7919L % 401 + "," + i * 31L % 97 + "," + i / 7.0 + "\n")
            .collect(Collectors.joining()));
    return Digraph.of(
        EdgeLoader.over(TextPartition.plan(List.of(edges.toString()), 1))
            .ids(IdMap.Kind.TEXT)
            .build()
            .load(0, AllToAll.alone()),
        EdgeLoader.DuplicatePolicy.LAST);
  }

  /** Writes the files; returns the bits of the batches behind the position. */
  List<String> write() throws IOException {
    GraphFile.save(parsed(), graph);
    List<Path> images =
        Stream.of(
                "411.jpg", "420_odd.jpg", "420_progressive.jpg", "440.jpg", "exif_3.jpg", "444.jpg")
            .map(IMAGES::resolve)
            .toList();
    ImageList list = ImageList.of(List.of("a", "b"), images, new int[] {0, 1, 0, 1, 0, 1});
    ImageRecords.write(list, records, done -> {});
    try (ImageRecords dataset = ImageRecords.open(records, PLAN);
        DataLoader loader = loader(dataset);
        Batches batches = loader.epoch(1)) {
      batches.next();
      Files.writeString(position, batches.state().toJson());
      return bits(batches);
    }
  }

  /** Reads the files; returns the bits of the batches behind the position. */
  List<String> read() throws IOException {
    Digraph saved = GraphFile.loadDigraph(graph);
    Digraph parsed = parsed();
    if (!saved.vertices().equals(parsed.vertices()) || !saved.reverse().equals(parsed.reverse())) {
      throw new AssertionError("a graph of the other line is another one");
    }
    if (!ImageRecords.verify(records, done -> {}).isEmpty()) {
      throw new AssertionError("a record file of the other line is damaged");
    }
    try (ImageRecords dataset = ImageRecords.open(records, PLAN);
        DataLoader loader = loader(dataset);
        Batches batches = loader.resume(LoaderState.fromJson(Files.readString(position)))) {
      return bits(batches);
    }
  }

  private static DataLoader loader(ImageRecords dataset) {
    return DataLoader.over(dataset)
        .sampler(ShuffledSampler.of(dataset.size(), 42))
        .batchSize(BATCH)
        .seed(5)
        .build();
  }

  static String bits(Tensor tensor) {
    byte[] bytes = new byte[(int) tensor.nbytes()];
    new BytePointer(tensor.contiguous().data_ptr()).get(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  private static List<String> bits(Batches batches) {
    List<String> all = new ArrayList<>();
    for (Batch batch : batches) {
      all.add(bits(batch.tensor(0)) + bits(batch.tensor(1)));
    }
    return all;
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.BipartiteGraph;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.GraphFile;
import io.torchfeed.memory.DType;
import io.torchfeed.text.TextFileException;
import io.torchfeed.text.TextPartition;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.imageio.ImageIO;

/**
 * Files whose names are not ASCII, not UTF-8, or both, and a report on reading them, which must be
 * the same in every locale. A program, so that a test can choose the locale.
 */
final class FileNames {
  /** Escaped names in byte order; decoding them in the locale C would change the order. */
  private static final List<String> NAMES =
      List.of("%C3%A9%C3%A9z", "%E6%97%A5a", "%E6%97%A5b", "%FF%E6", "%FF%E7");

  private FileNames() {}

  /** Prints a report on reading the files of a folder. */
  public static void main(String[] folder) throws IOException {
    System.out.println("names " + System.getProperty("sun.jnu.encoding"));
    report(Path.of(folder[0])).forEach(System.out::println);
  }

  static Path path(Path folder, String escapedName) {
    return Path.of(URI.create("file://" + folder.toUri().getRawPath() + escapedName));
  }

  static void make(Path folder) throws IOException {
    for (String name : List.of("rows", "text", "images")) {
      Files.createDirectory(folder.resolve(name));
    }
    for (int i = 0; i < NAMES.size(); i++) {
      Files.write(path(folder.resolve("rows"), NAMES.get(i)), new byte[] {(byte) (10 + i)});
      Files.writeString(path(folder.resolve("text"), NAMES.get(i)), "line %d\n".formatted(i));
      Path images = Files.createDirectory(path(folder.resolve("images"), NAMES.get(i)));
      for (String name : NAMES) {
        try (OutputStream out = Files.newOutputStream(path(images, name + ".png"))) {
          ImageIO.write(new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB), "png", out);
        }
      }
    }
    Files.writeString(path(folder, "%C3%A9.csv"), "a\n7\n");
    Files.writeString(path(folder, "%FF.csv"), "a\nseven\n");
  }

  static List<String> report(Path folder) throws IOException {
    List<String> report = new ArrayList<>();
    report.add("rows " + rows(folder.resolve("rows")));
    TextPartition plan = TextPartition.plan(List.of(folder.resolve("text").toString()), 2);
    report.add("text %x".formatted(plan.digest()));
    plan.files().forEach(file -> report.add("text " + file.path().toUri()));
    report.add("removed " + removed(folder));
    report.add("csv " + csv(path(folder, "%C3%A9.csv")));
    report.add("csv " + csv(path(folder, "%FF.csv")));
    report.add("graph " + graph(path(folder, "%C3%A9%FF.graph"), folder));
    ImageList images = ImageList.of(folder.resolve("images"));
    for (int i = 0; i < images.size(); i++) {
      report.add("image %d %s".formatted(images.label(i), images.files().get(i).toUri()));
    }
    return report;
  }

  private static List<Long> rows(Path folder) throws IOException {
    Path[] files;
    try (Stream<Path> entries = Files.list(folder)) {
      files = entries.sorted().toArray(Path[]::new);
    }
    List<Long> values = new ArrayList<>();
    try (FileDataset data = FileDataset.of(FileColumn.raw(RowLayout.of(DType.UINT8), files));
        DataLoader loader = DataLoader.over(data).batchSize(1).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        values.add(batch.tensor(0).item_long());
      }
    }
    return values;
  }

  /** Returns the path in the error for a file deleted after it was planned. */
  private static URI removed(Path folder) throws IOException {
    Path parent = Files.createDirectory(folder.resolve("removed"));
    Path file = Files.write(path(parent, "%C3%A9"), "a\n".getBytes(UTF_8));
    TextPartition plan = TextPartition.plan(List.of(parent.toString()), 1);
    Files.delete(file);
    Files.delete(parent);
    try {
      plan.open(0).next();
      throw new IllegalStateException("a file that was removed was read");
    } catch (TextFileException e) {
      return e.path().toUri();
    }
  }

  private static String csv(Path file) {
    try (TensorDataset data = CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, "a"));
        DataLoader loader = DataLoader.over(data).batchSize(1).build();
        Batches batches = loader.epoch(0)) {
      return "value " + batches.next().tensor(0).item_long();
    } catch (FieldException e) {
      return "error in " + e.path().toUri();
    }
  }

  private static String graph(Path file, Path folder) throws IOException {
    Path edges = Files.writeString(folder.resolve("edges"), "1,2\n1,3\n");
    BipartiteGraph graph =
        BipartiteGraph.of(
            EdgeLoader.over(TextPartition.plan(List.of(edges.toString()), 1))
                .build()
                .load(0, AllToAll.alone()),
            EdgeLoader.DuplicatePolicy.LAST);
    GraphFile.save(graph, file);
    boolean same = GraphFile.loadBipartiteGraph(file).edges().equals(graph.edges());
    Files.delete(file);
    return same ? "saved and loaded" : "loaded another one";
  }
}

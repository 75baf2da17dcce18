// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.benchmarks.loaders.PeerProcess.MissingException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The programs of the contestants; starts their processes, each with one thread per operation. */
final class Programs {
  private static final Map<String, String> ONE_THREAD =
      Map.of("OMP_NUM_THREADS", "1", "MKL_NUM_THREADS", "1");

  private final Path mnist;
  private final Path images;
  private final Path logs;
  private final Map<String, List<String>> peers;

  /**
   * Describes the locations of files and programs.
   *
   * @param mnist folder of MNIST
   * @param images folder of the generated images
   * @param logs folder for the standard error of each process
   * @param peers commands of the programs outside this JVM; row and folder are appended
   */
  Programs(Path mnist, Path images, Path logs, Map<String, List<String>> peers) {
    this.mnist = mnist;
    this.images = images;
    this.logs = logs;
    this.peers = Map.copyOf(peers);
  }

  RowData data(Row row) {
    return new RowData(row, folder(row));
  }

  private Path folder(Row row) {
    return row.isMnist() ? mnist : images;
  }

  /** Ensures that the files of a row exist. */
  void prepare(Row row) throws IOException, MissingException {
    if (!row.isMnist()) {
      RowData.writeImages(images);
      return;
    }
    for (String file : List.of(RowData.MNIST_IMAGES, RowData.MNIST_LABELS)) {
      if (!Files.isRegularFile(mnist.resolve(file))) {
        throw new MissingException(
            mnist.resolve(file)
                + " is missing; examples/mnist-ddp/train --epochs=1 --max-steps=1 fetches MNIST");
      }
    }
  }

  /** Starts the process of a program over a row. */
  PeerProcess start(String program, Row row)
      throws IOException, InterruptedException, MissingException {
    List<String> command = new ArrayList<>();
    if (List.of("native", "java", "plain", "presets", "presets-batch", "pread").contains(program)) {
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.add("-Xmx3g");
      if (program.equals("java")) { // reads random heap rows; "plain" is slower with it
        command.add("-XX:+UseTransparentHugePages");
      }
      if (program.startsWith("presets")) { // or each JavaCPP object reads the process size
        command.add("-Dorg.bytedeco.javacpp.maxPhysicalBytes=0");
      }
      command.addAll(List.of("-cp", System.getProperty("java.class.path")));
      command.add(ContestantProgram.class.getName());
    } else {
      List<String> start = peers.get(program);
      if (start == null) {
        throw new MissingException("left out");
      }
      command.addAll(start);
    }
    command.add(row.name());
    command.add(folder(row).toAbsolutePath().toString());
    command.add(program);
    Path log = logs.resolve(program + "-" + row + ".log");
    return new PeerProcess(command, ONE_THREAD, log);
  }
}

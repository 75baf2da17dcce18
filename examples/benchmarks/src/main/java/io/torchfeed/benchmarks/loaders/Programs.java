// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.benchmarks.loaders.PeerProcess.MissingException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** How the contestants' processes are started, each with one thread inside an operation. */
final class Programs {
  private static final Map<String, String> ONE_THREAD =
      Map.of("OMP_NUM_THREADS", "1", "MKL_NUM_THREADS", "1");

  private final Path mnist;
  private final Path images;
  private final Path logs;
  private final Map<String, List<String>> peers;

  /**
   * Says where everything is.
   *
   * @param mnist folder of MNIST
   * @param images folder of the generated images
   * @param logs where the processes' standard errors go
   * @param peers commands of the programs that are not of this JVM; row and folder follow them
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

  /** Makes sure that the files of a row are there. */
  void prepare(Row row) throws IOException, MissingException {
    if (!row.isMnist()) {
      RowData.writeImages(images);
      return;
    }
    for (String file : List.of(RowData.MNIST_IMAGES, RowData.MNIST_LABELS)) {
      if (!Files.isRegularFile(mnist.resolve(file))) {
        throw new MissingException(
            mnist.resolve(file)
                + " is not there; examples/mnist-ddp/train --epochs=1 --max-steps=1 fetches MNIST");
      }
    }
  }

  /** Starts the process of some entries. */
  PeerProcess start(String program, Row row)
      throws IOException, InterruptedException, MissingException {
    List<String> command = new ArrayList<>();
    if (List.of("native", "java", "plain", "presets", "pread").contains(program)) {
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.add("-Xmx3g");
      if (program.equals("java")) { // it reads random rows of the heap; "plain" is slower with it
        command.add("-XX:+UseTransparentHugePages");
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

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A coordinator in a process that has opened all the files it may have, until a file is there. */
final class FewFilesProgram {
  private FewFilesProgram() {}

  public static void main(String[] arguments) throws Exception {
    CountDownLatch refused = new CountDownLatch(1);
    Coordinator coordinator =
        Coordinator.listen(
            "127.0.0.1",
            0,
            CoordinatorOptions.of(1, 1)
                .withJob("job")
                .withEvents(
                    event -> {
                      System.out.println(event.kind() + " " + event.text());
                      refused.countDown();
                    }));
    // A stranger, so that no class for a refusal has to be read from a file any more.
    try (Socket stranger = new Socket(InetAddress.getLoopbackAddress(), coordinator.port())) {
      stranger.getOutputStream().write(new byte[8]);
      refused.await();
    }
    Path free = Path.of(arguments[0]);
    List<FileInputStream> all = openAll();
    System.out.println("full " + coordinator.port());
    while (!Files.exists(free)) {
      Thread.sleep(5);
    }
    for (FileInputStream each : all) {
      each.close();
    }
    coordinator.await();
  }

  private static List<FileInputStream> openAll() throws IOException {
    Path nothing = Files.createTempFile("nothing", "");
    List<FileInputStream> all = new ArrayList<>();
    try {
      while (true) {
        all.add(new FileInputStream(nothing.toFile()));
      }
    } catch (FileNotFoundException e) { // with too many open files, too
      Files.delete(nothing);
      return all;
    }
  }
}

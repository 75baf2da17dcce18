// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A client of a package registry, which runs with the user's settings. */
final class PackageClient {
  private static final int TIMEOUT_SECONDS = 180;
  private static final String LOG = "client.log";

  /** A reader of a fetched archive, which is deleted afterwards. */
  interface Reader {
    void read(Path archive) throws IOException;
  }

  private PackageClient() {}

  /**
   * Runs a command that writes an archive to its current folder.
   *
   * @param command the client and its arguments
   * @param suffix of the archive's name
   * @param reader receives the archive
   * @throws IOException if the client cannot be started or fails, with its first line of output
   */
  static void fetch(List<String> command, String suffix, Reader reader) throws IOException {
    Path scratch = Files.createTempDirectory("torchfeed-mnist");
    try {
      run(command, scratch);
      Path archive;
      try (Stream<Path> files = Files.list(scratch)) {
        archive =
            files
                .filter(file -> file.toString().endsWith(suffix))
                .findFirst()
                .orElseThrow(() -> new IOException(command.get(0) + " wrote no " + suffix));
      }
      reader.read(archive);
    } finally {
      deleteFlat(scratch);
    }
  }

  private static void run(List<String> command, Path scratch) throws IOException {
    String client = command.get(0);
    Path log = scratch.resolve(LOG);
    Process process;
    try {
      process =
          new ProcessBuilder(command)
              .directory(scratch.toFile())
              .redirectInput(new File("/dev/null"))
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
    } catch (IOException e) {
      throw new IOException(client + " could not be started (is it installed?)", e);
    }
    try {
      if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException(client + " did not finish within " + TIMEOUT_SECONDS + " s");
      }
      if (process.exitValue() != 0) {
        throw new IOException(
            client + " exited with status " + process.exitValue() + ": " + firstLine(log));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while " + client + " was running", e);
    } finally {
      process.destroyForcibly();
    }
  }

  private static String firstLine(Path log) throws IOException {
    try (Stream<String> lines = Files.lines(log, StandardCharsets.UTF_8)) {
      return lines.filter(line -> !line.isBlank()).findFirst().orElse("no output");
    }
  }

  private static void deleteFlat(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.deleteIfExists(file);
      }
    }
    Files.deleteIfExists(folder);
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** The log files of a launch; files of earlier launches in the same folder are continued. */
final class LogFolder {
  private final @Nullable Path folder;

  private LogFolder(@Nullable Path folder) {
    this.folder = folder;
  }

  /**
   * Creates the folder if it does not exist.
   *
   * @param folder null for no logs
   */
  static LogFolder open(@Nullable Path folder) throws IOException {
    if (folder != null) {
      Files.createDirectories(folder);
    }
    return new LogFolder(folder);
  }

  /** Opens the log of a process, or of the launcher; null for none. */
  @Nullable BufferedWriter log(String name) throws IOException {
    return folder == null
        ? null
        : Files.newBufferedWriter(
            folder.resolve(name.replace(' ', '-') + ".log"),
            Charset.defaultCharset(),
            StandardOpenOption.CREATE,
            StandardOpenOption.APPEND);
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.Callable;

/**
 * Local files of sources, one after the other, while daemon threads copy the next ones: see {@link
 * CachedFiles#ahead}. Threads that share one get different files.
 */
public final class CopiesAhead implements AutoCloseable {
  private final List<ByteSource> sources;
  private final TasksAhead<Path> tasks;
  private volatile boolean isClosed;

  // guarded by this
  private int taken;

  CopiesAhead(CachedFiles files, List<ByteSource> sources, int copies) {
    this.sources = sources;
    List<Callable<Path>> all =
        sources.stream().<Callable<Path>>map(each -> () -> files.copy(each, copies)).toList();
    tasks = new TasksAhead<>(all, copies);
  }

  /**
   * Returns whether there are more files.
   *
   * @return true before the last one was taken
   */
  public synchronized boolean hasNext() {
    return taken < sources.size();
  }

  /**
   * Waits for the next file. After a failure, the next call continues with the following source.
   *
   * @return the file, as {@link CachedFiles#path} describes
   * @throws ByteSourceException as {@link CachedFiles#path}; after an interrupt, the same file is
   *     next again
   * @throws IOException as {@link CachedFiles#path}
   * @throws IllegalStateException if this or the files are closed
   * @throws NoSuchElementException if there are no more files
   */
  public synchronized Path next() throws IOException {
    if (isClosed) {
      throw new IllegalStateException("CopiesAhead is closed");
    } else if (!hasNext()) {
      throw new NoSuchElementException("all %d files were taken".formatted(sources.size()));
    }
    boolean isInterrupted = false;
    try {
      return tasks.next();
    } catch (InterruptedException e) {
      isInterrupted = true;
      throw CachedFiles.interrupted(sources.get(taken), e);
    } catch (IOException e) {
      if (isClosed) { // which interrupts the copies
        throw new IllegalStateException("CopiesAhead is closed", e);
      }
      throw e;
    } finally {
      taken += isInterrupted ? 0 : 1;
    }
  }

  /** Ends the copies that were not taken, and closes all sources. The files stay. */
  @Override
  public void close() throws IOException {
    isClosed = true;
    try (ClosedSources closing = new ClosedSources(sources)) {
      tasks.close();
    }
  }
}

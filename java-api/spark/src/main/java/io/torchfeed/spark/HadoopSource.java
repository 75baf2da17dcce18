// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.ByteSourceException;
import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.AccessDeniedException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.AccessControlException;
import org.jspecify.annotations.Nullable;

/**
 * A file of a Hadoop file system, such as HDFS, as a source of the readers of torchfeed.
 * Thread-safe.
 *
 * <pre>{@code
 * Configuration hadoop = dataFrame.sparkSession().sparkContext().hadoopConfiguration();
 * try (ByteSource lines = ReadAhead.of(HadoopSource.of("hdfs:///data/train.csv", hadoop))) {
 *   TextPartition plan = TextPartition.of(List.of(lines), 2);
 * }
 * }</pre>
 *
 * <p>The first call notes length and time of modification of the file. Each read asks the file
 * system for both again after it has the bytes, and drops them if one differs: a changed file is a
 * {@link ByteSourceException} of {@link Problem#CHANGED}, and the bytes of two versions are never
 * mixed. Not noticed is a change within a millisecond that leaves the length. Hadoop's clients try
 * again by their own settings.
 *
 * <p>It cannot be serialized: a task makes its own, of a path.
 */
public final class HadoopSource implements ByteSource {
  private static final int MOST = 8 << 20;

  private final Path path;
  private final Configuration hadoop;
  private final String name;

  // guarded by this
  private @Nullable FileStatus first;
  private @Nullable FSDataInputStream stream;
  private boolean isClosed;

  private HadoopSource(Path path, Configuration hadoop, String name) {
    this.path = path;
    this.hadoop = hadoop;
    this.name = name;
  }

  /**
   * Returns the source of a file. Nothing is asked yet.
   *
   * @param path the file, for example {@code hdfs://namenode/data/train.csv}; without a scheme, of
   *     the default file system
   * @param hadoop the settings of the file system, borrowed
   * @return the source, named by the authority, without a password, and the path; the caller closes
   *     it
   * @throws IllegalArgumentException if the path is none
   */
  public static HadoopSource of(String path, Configuration hadoop) {
    Path parsed = new Path(requireNonNull(path, "path"));
    requireNonNull(hadoop, "hadoop");
    URI uri = parsed.toUri();
    String authority = uri.getAuthority() == null ? "" : uri.getAuthority();
    String name = authority.replaceFirst("^[^@]*:[^@]*@", "") + uri.getPath();
    return new HadoopSource(parsed, hadoop, name);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long size() throws IOException {
    return noted().getLen();
  }

  /** Returns the time of the last modification of the file. */
  @Override
  public String version() throws IOException {
    return "modified " + noted().getModificationTime();
  }

  @Override
  public int read(long offset, ByteBuffer into) throws IOException {
    requireNonNull(into, "into");
    if (offset < 0 || !into.hasRemaining()) {
      throw new IllegalArgumentException(
          "offset must be at least 0 and the buffer have room, got %d and %s"
              .formatted(offset, into));
    }
    FileStatus status = noted();
    if (offset >= status.getLen()) {
      return -1;
    }
    int room = (int) Math.min(into.remaining(), status.getLen() - offset);
    byte[] bytes = new byte[Math.min(room, MOST)];
    FSDataInputStream open = null;
    try {
      open = opened();
      open.readFully(offset, bytes, 0, bytes.length);
    } catch (IOException e) {
      drop(open, e);
      requireUnchanged(status, offset, e);
      throw failure(offset, e);
    }
    requireUnchanged(status, offset, null);
    into.put(bytes);
    return bytes.length;
  }

  private FileSystem files() throws IOException {
    return path.getFileSystem(hadoop); // which Hadoop shares and closes
  }

  private synchronized FileStatus noted() throws IOException {
    requireOpen();
    if (first == null) {
      FileStatus status;
      try {
        status = files().getFileStatus(path);
      } catch (IOException e) {
        throw failure(0, e);
      }
      if (!status.isFile()) {
        throw new ByteSourceException(name, 0, "it must be a regular file, got a folder", null);
      }
      first = status;
    }
    return first;
  }

  private synchronized FSDataInputStream opened() throws IOException {
    requireOpen();
    if (stream == null) {
      stream = files().open(path);
    }
    return stream;
  }

  /** Closes a stream that has failed; the next read opens another. */
  private synchronized void drop(@Nullable FSDataInputStream failed, IOException failure) {
    if (failed != null && stream == failed) {
      stream = null;
      try {
        failed.close();
      } catch (IOException e) {
        failure.addSuppressed(e);
      }
    }
  }

  /** Throws if the bytes that were read may be of another file. */
  private void requireUnchanged(FileStatus noted, long offset, @Nullable IOException reading)
      throws IOException {
    FileStatus now;
    try {
      now = files().getFileStatus(path);
    } catch (FileNotFoundException e) {
      throw changed(offset, "it was deleted", e);
    } catch (IOException e) {
      throw failure(offset, reading == null ? e : reading);
    }
    if (now.getLen() != noted.getLen()) {
      String how = "its length was %d and is now %d".formatted(noted.getLen(), now.getLen());
      throw changed(offset, how, reading);
    } else if (now.getModificationTime() != noted.getModificationTime()) {
      throw changed(offset, "its time of modification is another one", reading);
    }
  }

  private ByteSourceException changed(long offset, String how, @Nullable IOException cause) {
    String reason = "the file has changed since its first bytes were read (%s); open it again";
    return new ByteSourceException(name, Problem.CHANGED, offset, reason.formatted(how), cause);
  }

  private ByteSourceException failure(long offset, IOException e) {
    Problem problem = Problem.UNREADABLE;
    if (Thread.currentThread().isInterrupted()) {
      problem = Problem.INTERRUPTED;
    } else if (e instanceof FileNotFoundException) {
      problem = Problem.MISSING;
    } else if (e instanceof AccessControlException || e instanceof AccessDeniedException) {
      problem = Problem.DENIED;
    }
    String message = e.getMessage();
    String reason = message == null || message.isBlank() ? e.getClass().getName() : message;
    return new ByteSourceException(name, problem, offset, reason, e);
  }

  private void requireOpen() throws ClosedChannelException {
    if (isClosed) {
      throw new ClosedChannelException();
    }
  }

  @Override
  public synchronized void close() throws IOException {
    isClosed = true;
    if (stream != null) {
      stream.close();
      stream = null;
    }
  }

  @Override
  public String toString() {
    return "HadoopSource[%s]".formatted(name);
  }
}

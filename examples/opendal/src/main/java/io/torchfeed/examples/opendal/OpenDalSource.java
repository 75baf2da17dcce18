// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.opendal;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.ByteSourceException;
import io.torchfeed.storage.ByteSourceException.Problem;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.Supplier;
import org.apache.opendal.Metadata;
import org.apache.opendal.OpenDALException;
import org.apache.opendal.Operator;
import org.jspecify.annotations.Nullable;

/**
 * An object that OpenDAL reads. Each read asks for the length, ETag and time of the object
 * afterwards, so that the bytes of two versions are not mixed. Thread-safe.
 */
public final class OpenDalSource implements ByteSource {
  private static final int MOST = 8 << 20;

  private final Operator operator;
  private final String path;
  private final String name;
  private volatile @Nullable Metadata first;

  private OpenDalSource(Operator operator, String path, String name) {
    this.operator = operator;
    this.path = path;
    this.name = name;
  }

  /**
   * Returns the source of an object. Nothing is asked yet.
   *
   * @param operator the store, borrowed
   * @param store its name in messages, such as the bucket
   * @param path the object
   * @return the source, named by store and path
   */
  public static OpenDalSource of(Operator operator, String store, String path) {
    return new OpenDalSource(operator, path, store + "/" + path);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long size() throws ByteSourceException {
    return noted().getContentLength();
  }

  @Override
  public String version() throws ByteSourceException {
    Metadata metadata = noted();
    String tag = metadata.getEtag();
    return tag != null ? tag : String.valueOf(metadata.getLastModified());
  }

  @Override
  public int read(long offset, ByteBuffer into) throws ByteSourceException {
    Metadata noted = noted();
    long left = noted.getContentLength() - offset;
    if (left <= 0) {
      return -1;
    }
    long count = Math.min(Math.min(left, into.remaining()), MOST);
    byte[] bytes = ask(offset, () -> operator.read(path, offset, count));
    Metadata now = ask(offset, () -> operator.stat(path));
    if (bytes.length != count
        || now.getContentLength() != noted.getContentLength()
        || !Objects.equals(now.getEtag(), noted.getEtag())
        || !Objects.equals(now.getLastModified(), noted.getLastModified())) {
      String reason = "the object has changed since its first bytes were read; open it again";
      throw new ByteSourceException(name, Problem.CHANGED, offset, reason, null);
    }
    into.put(bytes);
    return bytes.length;
  }

  private Metadata noted() throws ByteSourceException {
    Metadata known = first;
    if (known == null) {
      known = ask(0, () -> operator.stat(path));
      first = known;
    }
    return known;
  }

  private <T> T ask(long offset, Supplier<T> question) throws ByteSourceException {
    try {
      return question.get();
    } catch (OpenDALException e) {
      Problem problem =
          switch (e.getCode()) {
            case NotFound -> first == null ? Problem.MISSING : Problem.CHANGED;
            case PermissionDenied -> Problem.DENIED;
            case RateLimited -> Problem.UNAVAILABLE;
            default -> Problem.UNREADABLE;
          };
      throw new ByteSourceException(name, problem, offset, "OpenDAL says " + e.getCode(), e);
    }
  }

  @Override
  public void close() {}
}

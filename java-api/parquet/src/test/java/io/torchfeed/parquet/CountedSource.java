// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** The content of a file in a bucket; notes each read, and may change or fail. */
final class CountedSource implements ByteSource {
  /** A range that was read. */
  record Range(long offset, int bytes) {}

  private final String name;
  private final byte[] content;
  private final List<Range> ranges = new CopyOnWriteArrayList<>();
  volatile String version;
  final AtomicInteger failures = new AtomicInteger(); // of the next reads

  private CountedSource(String name, byte[] content, String version) {
    this.name = name;
    this.content = content;
    this.version = version;
  }

  static CountedSource of(Path file, String version) {
    try {
      String name = "bucket/" + requireNonNull(file.getFileName());
      return new CountedSource(name, Files.readAllBytes(file), version);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  List<Range> ranges() {
    return ranges;
  }

  long bytesRead() {
    return ranges.stream().mapToLong(Range::bytes).sum();
  }

  /** Returns how often the last 8 bytes were read, the start of each reading of a footer. */
  long footersRead() {
    return ranges.stream()
        .filter(range -> range.offset() <= content.length - 8)
        .filter(range -> range.offset() + range.bytes() == content.length)
        .count();
  }

  void forget() {
    ranges.clear();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long size() {
    return content.length;
  }

  @Override
  public String version() {
    return version;
  }

  @Override
  public int read(long offset, ByteBuffer into) throws IOException {
    if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IOException("the line is cut");
    }
    if (offset >= content.length) {
      return -1;
    }
    int count = (int) Math.min(into.remaining(), content.length - offset);
    into.put(content, (int) offset, count);
    ranges.add(new Range(offset, count));
    return count;
  }

  @Override
  public void close() {}
}

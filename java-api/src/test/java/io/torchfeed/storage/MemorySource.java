// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A source in memory that counts, and may be slow, fail or return fewer bytes. */
public final class MemorySource implements ByteSource {
  public final AtomicInteger reads = new AtomicInteger();
  public final AtomicLong bytesRead = new AtomicLong();

  /** The largest number of bytes of a read. */
  public volatile int most = Integer.MAX_VALUE;

  /** Reads that reach this offset fail. */
  public volatile long failsAt = Long.MAX_VALUE;

  /** Thrown in place of the size. */
  public volatile @Nullable RuntimeException broken;

  /** The size that it reports. */
  public volatile long size;

  /** Opened before a read returns, once {@link #isReading} is. */
  public volatile CountDownLatch mayReturn = new CountDownLatch(0);

  public final CountDownLatch isReading = new CountDownLatch(1);

  private final String name;
  private final byte[] content;

  public MemorySource(String name, byte[] content) {
    this.name = name;
    this.content = content.clone();
    size = content.length;
  }

  public static MemorySource of(String name, String content) {
    return new MemorySource(name, content.getBytes(ISO_8859_1));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long size() {
    RuntimeException thrown = broken;
    if (thrown != null) {
      throw thrown;
    }
    return size;
  }

  @Override
  public int read(long offset, ByteBuffer into) throws IOException {
    reads.incrementAndGet();
    isReading.countDown();
    try {
      mayReturn.await();
    } catch (InterruptedException e) {
      throw new IOException("interrupted", e);
    }
    if (offset >= content.length) {
      return -1;
    }
    int count = Math.min((int) Math.min(into.remaining(), content.length - offset), most);
    if (offset + count > failsAt) {
      throw new IOException("no route to the store");
    }
    into.put(content, (int) offset, count);
    bytesRead.addAndGet(count);
    return count;
  }

  @Override
  public void close() {
    throw new AssertionError("readers borrow their sources");
  }
}

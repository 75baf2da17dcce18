// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.bindings.IndexCursor;
import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.OneThread;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;
import java.nio.LongBuffer;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;

/**
 * A cursor over one of libtorch's samplers.
 *
 * <p>Indices are read through the native cursor's window, since JavaCPP copies a whole {@code
 * long[]} argument in both directions, however few of its elements are requested.
 */
final class NativeCursor implements Cursor {
  /** The size below which querying the system's memory costs more than the shuffle. */
  private static final long SMALL_LIST_BYTES = 64L << 20;

  /** The name, which is made only for a message: printing a record makes code at run time. */
  private static final class Name {
    private final Sampler plan;

    Name(Sampler plan) {
      this.plan = plan;
    }

    @Override
    public String toString() {
      return "the cursor of " + plan;
    }
  }

  private final NativeHandle<IndexCursor> handle;
  private final long size;
  private final LongPredicate padding;
  private final int windowLength;
  private final LongPointer window;
  // the window's memory, for copies to the heap
  private final LongBuffer view;
  private final OneThread user;

  private NativeCursor(
      Name name, NativeHandle<IndexCursor> handle, long size, LongPredicate padding) {
    this.handle = handle;
    this.user = new OneThread(name);
    this.size = size;
    this.padding = padding;
    this.windowLength = handle.call(cursor -> Math.toIntExact(cursor.window_length()));
    this.window = handle.call(IndexCursor::window);
    this.view = NativeBytes.buffer(window, 0, (long) windowLength * Long.BYTES).asLongBuffer();
  }

  /**
   * Opens a cursor.
   *
   * @param padding whether the index at a position is padding
   */
  static Cursor open(Sampler plan, LongPredicate padding, Supplier<IndexCursor> factory) {
    Name name = new Name(plan);
    NativeHandle<IndexCursor> handle = NativeHandle.create(name, factory);
    try {
      return new NativeCursor(name, handle, plan.size(), padding);
    } catch (RuntimeException | Error e) {
      handle.close();
      throw e;
    }
  }

  /** Opens a cursor that holds a list of {@code indices} indices. */
  static Cursor openList(
      Sampler plan, long indices, LongPredicate padding, Supplier<IndexCursor> factory) {
    long bytes = indices * Long.BYTES;
    if (bytes > SMALL_LIST_BYTES && bytes > Pointer.availablePhysicalBytes()) {
      throw new IllegalStateException(tooLarge(plan, bytes));
    }
    try {
      return open(plan, padding, factory);
    } catch (NativeException e) {
      if (e.code() == NativeException.Code.OUT_OF_MEMORY) {
        throw new IllegalStateException(tooLarge(plan, bytes), e);
      }
      throw e;
    }
  }

  private static String tooLarge(Sampler plan, long bytes) {
    return ("the index list of %s takes %d bytes, but %d of %d bytes of memory are available; use a"
            + " sequential sampler, which holds no list, or shuffle blocks of samples instead of"
            + " single samples")
        .formatted(plan, bytes, Pointer.availablePhysicalBytes(), Pointer.totalPhysicalBytes());
  }

  @Override
  public int next(long[] into, int from, int count) {
    Checks.requireRoom(into, from, count);
    if (count < 1) {
      throw new IllegalArgumentException("count must be at least 1, got " + count);
    }
    user.enter();
    try {
      return handle.call(cursor -> read(cursor, into, from, count));
    } finally {
      user.exit();
    }
  }

  private int read(IndexCursor cursor, long[] into, int from, int count) {
    int done = 0;
    while (done < count) {
      int asked = Math.min(count - done, windowLength);
      int read = (int) cursor.read(window, asked);
      view.get(0, into, from + done, read);
      done += read;
      if (read < asked) {
        break;
      }
    }
    return done;
  }

  @Override
  public long position() {
    user.enter();
    try {
      return handle.callLong(IndexCursor::offset);
    } finally {
      user.exit();
    }
  }

  @Override
  public void seek(long position) {
    if (position < 0 || position > size) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(size, position));
    }
    user.enter();
    try {
      handle.run(cursor -> cursor.seek(position));
    } finally {
      user.exit();
    }
  }

  @Override
  public long remaining() {
    return size - position();
  }

  @Override
  public boolean isPadding(long position) {
    Checks.requireIndex("position", position, size);
    return handle.call(cursor -> padding.test(position));
  }

  @Override
  public void close() {
    handle.close();
  }
}

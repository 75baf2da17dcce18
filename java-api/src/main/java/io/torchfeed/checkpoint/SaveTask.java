// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.saving.BackgroundTask;
import io.torchfeed.internal.saving.Lanes;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * At most one save at a time: the copy of a state in memory, and its way to the disk. Threads wait
 * for each other, since a save uses the memory of the one before.
 */
final class SaveTask implements AutoCloseable {
  private final BackgroundTask task = new BackgroundTask("torchfeed-checkpoint");
  private final CopyMemory memory = new CopyMemory();
  private volatile Watched watched = new Watched(Path.of(""), Map.of());

  /** The moment at which tensors are copied that a state shares with its objects. */
  enum Copying {
    /** Not at all: the caller waits for the disk. */
    NEVER,

    /** Before the call returns. */
    AT_ONCE,

    /** After it, before {@link SaveTask#awaitCopied} returns. */
    IN_BACKGROUND
  }

  /**
   * Starts a save.
   *
   * @param path where the state is saved, for messages
   * @param taken returns the state
   * @param write writes it, and runs the check that it is given before the files take effect
   * @throws RuntimeException or an Error of the save before it, or of the state; then nothing is
   *     saved
   */
  synchronized <T extends StateCopy> void start(
      Path path, Supplier<T> taken, Copying copying, BiConsumer<T, Runnable> write) {
    task.await(); // so that at most one copy is in memory
    T copy = taken.get();
    try {
      if (copying == Copying.AT_ONCE) {
        copy.own(memory.copy(copy.shared(), Lanes.most()));
      }
      Map<String, Tensor> left = copying == Copying.IN_BACKGROUND ? copy.shared() : Map.of();
      Watched watching = new Watched(path, left);
      watched = watching;
      task.start(
          left.isEmpty() ? () -> {} : () -> copy(path, copy, left, watching),
          () -> {
            try (watching;
                copy) {
              write.accept(copy, watching::requireNone);
            }
          });
    } catch (RuntimeException | Error e) { // the JVM exits, or has no more threads
      watched.close();
      copy.close();
      throw e;
    }
  }

  private void copy(Path path, StateCopy copy, Map<String, Tensor> shared, Watched watching) {
    try {
      copy.own(memory.copy(shared, 1)); // the step has the other processors
      watching.requireNone();
    } catch (RuntimeException | Error e) {
      watching.close();
      copy.close();
      if (e instanceof Error || e instanceof CheckpointException) {
        throw e;
      }
      throw new CheckpointException(
          path, Problem.UNWRITABLE, "the state cannot be copied: " + Failures.reason(e), e);
    }
  }

  /**
   * Tensors that must not change while they are copied. libtorch counts a change at its end, so
   * that one may have begun before the copy, and be seen later.
   */
  private static final class Watched implements AutoCloseable {
    private final Path path;

    // guarded by this
    private final Map<String, Tensor> tensors = new TreeMap<>();
    private final Map<String, Long> versions = new TreeMap<>();
    private final Set<String> changed = new TreeSet<>();

    Watched(Path path, Map<String, Tensor> tensors) {
      this.path = path;
      tensors.forEach(
          (name, tensor) -> {
            this.tensors.put(name, CopyMemory.view(tensor));
            versions.put(name, version(tensor));
          });
    }

    private static long version(Tensor tensor) {
      return tensor.is_inference() ? 0 : tensor._version();
    }

    private synchronized void look() {
      tensors.forEach(
          (name, tensor) -> {
            if (version(tensor) != requireNonNull(versions.get(name))) {
              changed.add(name);
            }
          });
    }

    /** Requires that none has changed until now, or until {@link #close}. */
    synchronized void requireNone() {
      look();
      if (!changed.isEmpty()) {
        throw new CheckpointException(
            path,
            Problem.UNWRITABLE,
            "tensors changed while they were copied: %s; with withCopyInBackground(true), call"
                    .formatted(Quotes.listed(", ", changed))
                + " awaitCopied() before anything changes parameters or the state of an optimizer");
      }
    }

    /** Looks for changes once more; later ones do no harm. */
    @Override
    public synchronized void close() {
      look();
      tensors.values().forEach(Tensor::close);
      tensors.clear();
    }
  }

  /** Waits until the state may change. */
  void awaitCopied() {
    task.awaitFirst();
    watched.close();
  }

  /** Waits for the disk; throws a failure once. */
  synchronized void await() {
    task.await();
  }

  @Override
  public synchronized void close() {
    try {
      task.close();
    } finally {
      memory.close();
    }
  }

  /**
   * The memory of copies of tensors, which the next copy uses again: the first touch of its pages
   * takes several times as long as the copy. One thread at a time.
   */
  static final class CopyMemory implements AutoCloseable {
    private static final long PIECE = 16L << 20;

    private final Map<String, Tensor> kept = new HashMap<>();

    /** A range of a tensor and its place. */
    private record Piece(Pointer from, Pointer to, long at, long bytes) {
      void copy() {
        NativeBytes.buffer(to, at, bytes).put(NativeBytes.buffer(from, at, bytes));
      }
    }

    /**
     * Copies tensors. No copy of an earlier call may be in use.
     *
     * @param tensors by name; contiguous, on the CPU; borrowed
     * @param threads how many copy, at least 1
     * @return the copies by name; the caller closes them, and does not use them after {@link
     *     #close} or the next call
     * @throws NativeException if there is not enough memory; then none is kept
     */
    Map<String, Tensor> copy(Map<String, Tensor> tensors, int threads) {
      try {
        fit(tensors);
        try (PointerScope scope = new PointerScope()) {
          List<Piece> pieces = pieces(tensors);
          Lanes.run("torchfeed-copy", threads, pieces.size(), i -> pieces.get(i).copy());
        }
        Map<String, Tensor> copies = new LinkedHashMap<>();
        tensors.keySet().forEach(name -> copies.put(name, view(requireNonNull(kept.get(name)))));
        return copies;
      } catch (RuntimeException e) {
        close();
        throw NativeException.translate(e);
      } catch (Error e) {
        close();
        throw e;
      }
    }

    private static Tensor view(Tensor tensor) {
      return NativeHandle.outsideOfScopes(() -> new Tensor(tensor));
    }

    private void fit(Map<String, Tensor> tensors) {
      try (PointerScope scope = new PointerScope()) {
        kept.entrySet()
            .removeIf(
                entry -> {
                  boolean isOther = !fits(entry.getValue(), tensors.get(entry.getKey()));
                  if (isOther) {
                    entry.getValue().close();
                  }
                  return isOther;
                });
        tensors.forEach(
            (name, tensor) ->
                kept.computeIfAbsent(
                    name, n -> NativeHandle.outsideOfScopes(() -> torch.empty_like(tensor))));
      }
    }

    private static boolean fits(Tensor place, @Nullable Tensor tensor) {
      return tensor != null
          && place.scalar_type().intern() == tensor.scalar_type().intern()
          && Arrays.equals(place.sizes().vec().get(), tensor.sizes().vec().get());
    }

    private List<Piece> pieces(Map<String, Tensor> tensors) {
      List<Piece> pieces = new ArrayList<>();
      tensors.forEach(
          (name, tensor) -> {
            long bytes = tensor.nbytes();
            Tensor place = requireNonNull(kept.get(name));
            for (long at = 0; at < bytes; at += PIECE) {
              pieces.add(
                  new Piece(tensor.data_ptr(), place.data_ptr(), at, Math.min(PIECE, bytes - at)));
            }
          });
      return pieces;
    }

    /** Frees the memory; no effect the second time. */
    @Override
    public void close() {
      kept.values().forEach(Tensor::close);
      kept.clear();
    }
  }
}

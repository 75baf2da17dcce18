// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.DistributedIndex.Chunk;
import io.torchfeed.checkpoint.DistributedIndex.Chunked;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.zip.ZipException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** The tensors of a folder of {@code torch.distributed.checkpoint}, put together from chunks. */
final class DistributedTensors {
  private final Path index;
  private final Map<String, Chunked> tensors;
  private final Function<String, Path> beside;
  private boolean isClosed;

  /**
   * Names the tensors.
   *
   * @param index the path of their list
   * @param beside returns the path of a file of the folder
   */
  DistributedTensors(Path index, Map<String, Chunked> tensors, Function<String, Path> beside) {
    this.index = index;
    this.tensors = tensors;
    this.beside = beside;
  }

  /**
   * Checks that the files are there, with as many bytes as their chunks need.
   *
   * @throws CheckpointException if not
   */
  void requireFiles() {
    Map<String, Long> ends = new LinkedHashMap<>();
    for (Chunked tensor : tensors.values()) {
      for (Chunk chunk : tensor.chunks()) {
        ends.merge(chunk.file(), chunk.start() + chunk.bytes(), Math::max);
      }
    }
    ends.forEach(
        (file, end) -> {
          Path path = beside.apply(file);
          try (FileChannel channel = SavedBytes.open(path)) {
            if (channel.size() < end) {
              throw new CheckpointException(
                  path,
                  Problem.DAMAGED,
                  "it must have at least %d bytes, got %d".formatted(end, channel.size()));
            }
          } catch (IOException e) {
            throw CheckpointException.unreadable(path, e);
          }
        });
  }

  Set<String> names() {
    return Collections.unmodifiableSet(tensors.keySet());
  }

  /**
   * Reads a tensor.
   *
   * @param name one of {@link #names}
   * @return a new tensor on the CPU, owned by the caller and by no pointer scope
   * @throws CheckpointException if a chunk cannot be read, or is of another tensor
   */
  Tensor read(String name) {
    if (isClosed) {
      throw new IllegalStateException("the file is closed");
    }
    Chunked tensor = requireNonNull(tensors.get(name));
    long[] sizes = tensor.sizes().stream().mapToLong(Long::longValue).toArray();
    if (tensor.chunks().size() == 1) {
      return read(name, tensor.dtype(), tensor.chunks().get(0)); // all of it
    }
    if (DistributedIndex.overlap(tensor.chunks())) {
      throw new CheckpointException(
          index, Problem.DAMAGED, "chunks of %s overlap in it".formatted(Quotes.shortened(name)));
    }
    Tensor whole = TensorBytes.empty(tensor.dtype(), sizes);
    try (PointerScope scope = new PointerScope()) {
      for (Chunk chunk : tensor.chunks()) {
        Tensor target = whole;
        for (int i = 0; i < sizes.length; i++) {
          target = target.narrow(i, chunk.offsets().get(i), chunk.sizes().get(i));
        }
        try (Tensor elements = read(name, tensor.dtype(), chunk)) {
          target.copy_(elements);
        }
      }
      return whole;
    } catch (RuntimeException | Error e) {
      whole.close();
      throw e;
    }
  }

  private Tensor read(String name, DType dtype, Chunk chunk) {
    Path path = beside.apply(chunk.file());
    try (TorchStorages storages = ZippedTorch.open(path, chunk.start(), chunk.bytes())) {
      if (!(storages.root() instanceof PickledTensor saved)) {
        throw new UnpicklingException("%s is no tensor there".formatted(Quotes.shortened(name)));
      }
      if (saved.dtype() != dtype || !saved.sizes().equals(chunk.sizes())) {
        throw new UnpicklingException(
            "%s must be %s there, got %s"
                .formatted(
                    Quotes.shortened(name),
                    described(dtype, chunk.sizes()),
                    described(saved.dtype(), saved.sizes())));
      }
      storages.requireElements(name, saved);
      return storages.read(saved);
    } catch (ZipException | UnpicklingException e) {
      throw new CheckpointException(path, Problem.DAMAGED, String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }

  private static String described(DType dtype, List<Long> sizes) {
    return dtype + " " + sizes;
  }

  void close() {
    isClosed = true;
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.SafetensorsFile;
import io.torchfeed.checkpoint.StateDict;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItem;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.Tensor;

/**
 * The parameters and buffers of a module as the bytes of a safetensors file, which Python reads by
 * {@code safetensors.torch.load}: the form in which models go from executors to the driver and
 * back.
 */
public final class ModelBytes {
  private ModelBytes() {}

  /**
   * Returns the parameters and buffers of a module.
   *
   * @param module on any device; borrowed
   * @return the bytes of a safetensors file, fewer than 2^31
   * @throws IllegalArgumentException if the module takes more
   * @throws UncheckedIOException if the folder for temporary files cannot be written
   */
  public static byte[] of(Module module) {
    requireNonNull(module, "module");
    Path file = temporary();
    try (PointerScope scope = new PointerScope()) {
      SafetensorsFile.write(file, tensors(module), Map.of("format", "pt"));
      long size = Files.size(file);
      if (size > Integer.MAX_VALUE) {
        throw new IllegalArgumentException(
            "a result can have at most %d bytes, got a model of %d; save it as a checkpoint"
                .formatted(Integer.MAX_VALUE, size));
      }
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new UncheckedIOException("the bytes of a model cannot be read", e);
    } finally {
      delete(file);
    }
  }

  /**
   * Copies saved parameters and buffers into a module, or none if one does not fit.
   *
   * @param safetensors the result of {@link #of}, or the content of a file that Python has written
   * @param module has the same names, dtypes and shapes; on any device; borrowed
   * @throws IllegalArgumentException if it has others; the message has all differences
   * @throws io.torchfeed.checkpoint.CheckpointException if the bytes are malformed
   * @throws UncheckedIOException if the folder for temporary files cannot be written
   */
  public static void load(byte[] safetensors, Module module) {
    requireNonNull(safetensors, "safetensors");
    requireNonNull(module, "module");
    Path path = temporary();
    Map<String, Tensor> saved = new TreeMap<>();
    try (StateDict state = StateDict.owning("{}", saved);
        PointerScope scope = new PointerScope()) {
      Files.write(path, safetensors);
      try (SafetensorsFile file = SafetensorsFile.open(path)) {
        for (String name : file.names()) {
          saved.put(name, file.read(name));
        }
      }
      state.copyTo(tensors(module));
    } catch (IOException e) {
      throw new UncheckedIOException("the bytes of a model cannot be written", e);
    } finally {
      delete(path);
    }
  }

  private static Map<String, Tensor> tensors(Module module) {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    add(module.named_parameters(), tensors);
    add(module.named_buffers(), tensors);
    return tensors;
  }

  private static void add(StringTensorDict from, Map<String, Tensor> to) {
    StringTensorDictItemVector items = from.items();
    for (long i = 0; i < items.size(); i++) {
      StringTensorDictItem item = items.get(i);
      if (item.value().defined()) {
        to.put(item.key().getString(), item.value());
      }
    }
  }

  private static Path temporary() {
    try {
      return Files.createTempFile("torchfeed-model-", ".safetensors");
    } catch (IOException e) {
      throw new UncheckedIOException("a temporary file cannot be created", e);
    }
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new UncheckedIOException("a temporary file cannot be deleted", e);
    }
  }
}

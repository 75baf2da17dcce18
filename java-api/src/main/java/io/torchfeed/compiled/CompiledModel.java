// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeCompiledModel;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.compiled.CompiledModelException.Problem;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.PathBytes;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A model that Python has exported and compiled for the CPU: a {@code .pt2} package of {@code
 * torch.export} and {@code torch._inductor.aoti_compile_and_package}, which take the place of
 * TorchScript.
 *
 * <pre>{@code
 * try (CompiledModel model = CompiledModel.open(Path.of("net.pt2"));
 *     PointerScope scope = new PointerScope()) {
 *   Tensor scores = model.run(torch.ones(4, 8))[0];
 *   System.out.println(scores.argmax(new LongOptional(1), false));
 * }
 * }</pre>
 *
 * <p>A package contains machine code, which runs in this process: open only those that you would
 * run as a program. Packages of torch 2.10 and 2.13 run with libtorch 2.10 and 2.13. The code of
 * the package gives the bits that it gives in Python. Functions of libtorch that it calls, such as
 * products of matrices, add in the order of this libtorch.
 *
 * <p>Python compiles for the processor of its machine. {@link #open} refuses a package for another
 * architecture, and one whose named vector instructions this processor lacks; other instructions
 * that {@code -march=native} chose end the process with SIGILL where the processor is older than
 * Python's. The variable {@code TORCHINDUCTOR_CPP_MARCH} of torch 2.13, such as {@code x86-64-v3},
 * names an older processor to compile for.
 *
 * <p>Thread-safe: calls of {@link #run} take turns, each with the threads of libtorch. {@code
 * close} has no effect the second time, and the model is freed once the calls in other threads have
 * ended.
 */
public final class CompiledModel implements AutoCloseable {
  private static final String SIZES =
      "; dynamic_shapes of torch.export declares which sizes may vary, and how far";

  private final Path file;
  private final Map<String, String> metadata;
  private final InputDimensions dimensions;
  private final NativeHandle<NativeCompiledModel> handle;

  private CompiledModel(
      Path file,
      Map<String, String> metadata,
      InputDimensions dimensions,
      NativeHandle<NativeCompiledModel> handle) {
    this.file = file;
    this.metadata = metadata;
    this.dimensions = dimensions;
    this.handle = handle;
  }

  /**
   * Opens a package. Its library is unpacked into a folder of its own among the temporary files,
   * which is deleted before this method returns.
   *
   * @param file a regular file; not read after this method returns
   * @return the model; the caller closes it
   * @throws CompiledModelException if the file is missing, unreadable or damaged, is no such
   *     package, or has been compiled for another device, system, processor or libtorch
   * @throws IllegalArgumentException if the file is not in the default file system
   * @throws java.io.UncheckedIOException if the folder for temporary files, {@code java.io.tmpdir},
   *     cannot be written, or has no room for the library
   */
  public static CompiledModel open(Path file) {
    PathBytes.requireDefault(requireNonNull(file, "file"));
    return UnpackedFolder.use(folder -> open(file, folder));
  }

  private static CompiledModel open(Path file, Path folder) {
    PackageFiles files;
    InputDimensions dimensions;
    try {
      files = PackageFiles.unpack(file, folder);
      files.prepare();
      dimensions = InputDimensions.in(files.library());
    } catch (NoSuchFileException e) {
      throw new CompiledModelException(file, Problem.MISSING, "there is no such file", e);
    } catch (IOException e) {
      throw new CompiledModelException(
          file, Problem.UNREADABLE, "it cannot be unpacked: " + Failures.reason(e), e);
    }
    try (BytePointer library = new BytePointer(PathBytes.of(files.library()))) {
      return new CompiledModel(
          file,
          files.metadata(),
          dimensions,
          NativeHandle.create("CompiledModel", () -> NativeCompiledModel.load(library)));
    } catch (NativeException e) {
      Optional<String> obstacle = UnpackedFolder.obstacle();
      throw new CompiledModelException(
          file,
          obstacle.isPresent() ? Problem.UNREADABLE : Problem.MISMATCH,
          "its library cannot be loaded: %s; %s"
              .formatted(e.getMessage(), obstacle.orElse("compile it with torch 2.10 or 2.13")),
          e);
    }
  }

  /**
   * Returns the notes of Python on the compilation, such as {@code AOTI_CPU_ISA}, and the entries
   * of the program that compiled the model, its {@code aot_inductor.metadata}.
   *
   * @return an unmodifiable map
   */
  public Map<String, String> metadata() {
    return metadata;
  }

  /**
   * Returns the number of tensors that {@link #run} takes.
   *
   * @return the number of inputs, at least 0
   * @throws IllegalStateException if the model is closed
   */
  public int inputs() {
    return Math.toIntExact(handle.callLong(NativeCompiledModel::inputs));
  }

  /**
   * Runs the model, without recording for autograd.
   *
   * <p>The first dimension that Python exported as dynamic has at least two elements, unless it was
   * exported with {@code torch.fx.experimental._config.patch(backed_size_oblivious=True)}: to run a
   * single sample, repeat it and take the first result.
   *
   * <p>As in Python, two things are not checked. Sizes that were exported as the same dynamic
   * dimension must be equal: the code takes the first one, and reads behind an input that is
   * smaller. An index outside of its table ends the process if the code has several threads.
   *
   * @param inputs the tensors among the arguments of the model, in their order; dense, on the CPU,
   *     with the dtypes, sizes and strides for which the model was exported
   * @return the outputs, at least 0; they belong to the innermost {@code PointerScope} of the
   *     thread, or otherwise to the caller. One that the model returns unchanged shares the memory
   *     of its input.
   * @throws IllegalArgumentException if the model does not take the inputs
   * @throws CompiledModelException if its code fails
   * @throws IllegalStateException if the model is closed
   */
  public Tensor[] run(Tensor... inputs) {
    List<Tensor> all = Checks.copyOf("inputs", Arrays.asList(requireNonNull(inputs, "inputs")));
    try {
      return handle.call(
          model -> {
            requireDimensions(all);
            return run(model, all.toArray(Tensor[]::new));
          });
    } catch (NativeException e) {
      throw new CompiledModelException(
          file, Problem.FAILED, "its code fails for %s: %s".formatted(all(all), e.getMessage()), e);
    } catch (IllegalArgumentException e) {
      String reason = String.valueOf(e.getMessage());
      throw new IllegalArgumentException(
          "%s does not take %s: %s%s"
              .formatted(file, all(all), reason, reason.contains("dim value") ? SIZES : ""),
          e);
    }
  }

  private static Tensor[] run(NativeCompiledModel model, Tensor[] inputs) {
    try (TensorVector list = new TensorVector(inputs);
        TensorVector outputs = model.run(list)) {
      Tensor[] tensors = new Tensor[Math.toIntExact(outputs.size())];
      for (int i = 0; i < tensors.length; i++) {
        tensors[i] = new Tensor(outputs.get(i));
      }
      return tensors;
    }
  }

  private void requireDimensions(List<Tensor> inputs) {
    for (int i = 0; i < inputs.size(); i++) {
      OptionalInt expected = dimensions.of(i);
      if (inputs.get(i).isNull()) {
        throw new IllegalArgumentException("input %d is closed".formatted(i));
      }
      if (expected.isPresent() && inputs.get(i).defined()) {
        long found = inputs.get(i).dim();
        if (found != expected.getAsInt()) {
          throw new IllegalArgumentException(
              "input %d must have %d dimensions, got %d".formatted(i, expected.getAsInt(), found));
        }
      }
    }
  }

  private static String all(List<Tensor> inputs) {
    return inputs.stream()
        .map(CompiledModel::described)
        .collect(Collectors.joining(", ", "(", ")"));
  }

  private static String described(Tensor input) {
    if (input.isNull() || !input.defined()) {
      return input.isNull() ? "a closed tensor" : "an undefined tensor";
    }
    try (BytePointer dtype = input.dtype().name()) {
      return dtype.getString() + Arrays.toString(input.sizes().vec().get());
    }
  }

  /** Frees the model. Has no effect the second time. */
  @Override
  public void close() {
    handle.close();
  }

  /** Returns the path of the package. */
  @Override
  public String toString() {
    return file.toString();
  }
}

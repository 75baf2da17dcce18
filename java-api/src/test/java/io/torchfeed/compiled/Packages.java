// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.memory.DType;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** Packages of {@code python_packages.py}, whole or changed, and the runs of Python. */
final class Packages {
  static final String OF_MODEL = "2.10/data/aotinductor/model/";

  /** A run: the inputs and the outputs of Python, each a name, a dtype, a shape and bytes. */
  record Run(List<String> inputs, List<String> outputs) {}

  private Packages() {}

  /** Copies a golden package, of torch 2.10 or 2.13, into a folder. */
  static Path golden(Path folder, String version) throws IOException {
    Path file = folder.resolve(version + ".pt2");
    try (InputStream in =
        requireNonNull(
            Packages.class.getResourceAsStream("/golden/packages/%s.pt2".formatted(version)))) {
      Files.copy(in, file);
    }
    return file;
  }

  static Map<String, byte[]> entries(Path file) throws IOException {
    Map<String, byte[]> entries = new LinkedHashMap<>();
    try (ZipFile zip = new ZipFile(file.toFile())) {
      for (ZipEntry each : zip.stream().toList()) {
        entries.put(each.getName(), zip.getInputStream(each).readAllBytes());
      }
    }
    return entries;
  }

  static Path write(Path file, Map<String, byte[]> entries) throws IOException {
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
      for (Map.Entry<String, byte[]> each : entries.entrySet()) {
        zip.putNextEntry(new ZipEntry(each.getKey()));
        zip.write(each.getValue());
      }
    }
    return file;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Returns the runs in the lines of the script: two inputs, then two outputs, in turn. */
  static List<Run> runs(List<String> lines) {
    List<Run> runs = new ArrayList<>();
    for (int i = 0; i < lines.size(); i += 4) {
      runs.add(new Run(lines.subList(i, i + 2), lines.subList(i + 2, i + 4)));
    }
    return runs;
  }

  /** Returns the tensor of a line. */
  static Tensor tensor(String line) {
    String[] fields = line.split("\t", -1);
    long[] shape =
        Arrays.stream(fields[2].replaceAll("[\\[\\]]", "").split(", ", -1))
            .mapToLong(Long::parseLong)
            .toArray();
    DType dtype = fields[1].equals("torch.int64") ? DType.INT64 : DType.FLOAT32;
    byte[] bytes = HexFormat.of().parseHex(fields[3]);
    try (BytePointer memory = new BytePointer(bytes);
        Tensor view = torch.from_blob(memory, shape, new TensorOptions(dtype.scalarType()))) {
      return view.clone();
    }
  }

  /** Returns the line of a tensor. */
  static String line(String name, Tensor tensor) {
    Tensor dense = tensor.contiguous();
    byte[] bytes = new byte[Math.toIntExact(dense.nbytes())];
    NativeBytes.buffer(dense.data_ptr(), 0, bytes.length).get(bytes);
    return String.join(
        "\t",
        name,
        DType.of(tensor.scalar_type()) == DType.INT64 ? "torch.int64" : "torch.float32",
        Arrays.toString(tensor.sizes().vec().get()),
        HexFormat.of().formatHex(bytes));
  }

  static List<String> run(CompiledModel model, Run run) {
    Tensor[] outputs =
        model.run(run.inputs().stream().map(Packages::tensor).toArray(Tensor[]::new));
    return List.of(line("scores", outputs[0]), line("best", outputs[1]));
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** The system and the processor, by the names of Python. */
final class ThisMachine {
  private static final String NO_VECTORS = "INVALID_VEC_ISA"; // Inductor's word

  /**
   * The instructions, by their names in Linux, that the compiler uses for each name of Inductor.
   */
  private static final Map<String, List<String>> FLAGS =
      Map.of(
          NO_VECTORS,
          List.of(),
          "AVX2",
          List.of("avx2", "fma", "f16c"),
          "AVX512",
          List.of("avx512f", "avx512dq", "avx512vl", "avx512bw", "fma"),
          "AVX512_VNNI",
          List.of("avx512_vnni"),
          "AMX_TILE",
          List.of("amx_tile", "amx_bf16", "amx_int8"));

  private static final Map<String, Integer> ELF = Map.of("x86_64", 62, "aarch64", 183);

  private ThisMachine() {}

  static String platform() {
    return System.getProperty("os.name").toLowerCase(Locale.ROOT);
  }

  static String architecture() {
    String name = System.getProperty("os.arch");
    return name.equals("amd64") ? "x86_64" : name;
  }

  /** Returns the number of the architecture in ELF files; 0 if it is none that has libraries. */
  static int elf() {
    return ELF.getOrDefault(architecture(), 0);
  }

  /**
   * Returns whether this processor has a set of instructions; one without a known name it lacks.
   */
  static boolean hasInstructions(String set) {
    List<String> flags = FLAGS.get(set);
    return flags != null && (flags.isEmpty() || flags().containsAll(flags));
  }

  private static Set<String> flags() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
      return lines
          .filter(line -> line.startsWith("flags"))
          .findFirst()
          .map(line -> Set.of(line.substring(line.indexOf(':') + 1).trim().split(" +", -1)))
          .orElse(Set.of());
    } catch (IOException e) {
      throw new UncheckedIOException("the instructions of this processor cannot be read", e);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.internal.RankVariables;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The command of a process of a launch: another JVM like this one, with another main class. */
final class JvmCommand {
  /**
   * Ends JavaCPP's limit on the size of the process, four times the heap: libtorch's tensors are
   * outside of the heap, and a rank with more of them would end with an OutOfMemoryError.
   */
  private static final String ANY_PROCESS_SIZE = "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0";

  private JvmCommand() {}

  /** Returns a process that is not started, with the variables that all processes share. */
  static ProcessBuilder of(LaunchSettings settings, String job, Path lossNote) {
    ProcessBuilder builder = new ProcessBuilder(command(settings));
    Map<String, String> variables = builder.environment();
    int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / settings.ranks());
    variables.putIfAbsent("OMP_NUM_THREADS", Integer.toString(threads));
    variables.putAll(settings.environment());
    variables.put(RankVariables.JOB, job);
    variables.put(RankVariables.LAUNCHER, Long.toString(ProcessHandle.current().pid()));
    variables.put(RankVariables.LOSS_NOTE, lossNote.toString());
    variables.put(ErrorFile.VARIABLE, LossNotes.errorFile(lossNote).toString());
    return builder;
  }

  private static List<String> command(LaunchSettings settings) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    String modulePath = System.getProperty("jdk.module.path");
    addOption(command, "--module-path", modulePath);
    if (modulePath != null && !isModulePathIn(settings.jvmOptions())) {
      addOption(command, "--add-modules", modules());
    }
    addOption(command, "--class-path", System.getProperty("java.class.path"));
    command.add(ANY_PROCESS_SIZE); // options of the user override it
    command.addAll(settings.jvmOptions());
    if (settings.mainClass().indexOf('/') >= 0) {
      command.add("--module");
    }
    command.add(settings.mainClass());
    command.addAll(settings.arguments());
    return command;
  }

  private static boolean isModulePathIn(List<String> options) {
    return options.stream().anyMatch(each -> each.equals("-p") || each.startsWith("--module-path"));
  }

  /** Returns all modules of this JVM: some may be there by its option {@code --add-modules}. */
  private static String modules() {
    return ModuleLayer.boot().modules().stream()
        .map(Module::getName)
        .sorted()
        .collect(Collectors.joining(","));
  }

  private static void addOption(List<String> command, String option, @Nullable String value) {
    if (value != null && !value.isEmpty()) {
      command.add(option);
      command.add(value);
    }
  }
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/schemas"
)

func newPolicySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of policy files, for editors",
		Long: `Prints the JSON Schema (2020-12) of policy files. An editor that knows it completes keys, tells what each
does and underlines what is wrong. Most find it by the file's first line:

  # yaml-language-server: $schema=policy-file.schema.json

'fusebox policy check' finds all that the schema does, and more.`,
		Example: "  fusebox policy schema > policy-file.schema.json",
		Args:    arguments(),

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(schemas.Schema(schemas.PolicyFile))
			return err
		},
	}
}

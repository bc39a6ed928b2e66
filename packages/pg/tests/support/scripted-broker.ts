export { ScriptedBroker } from '@ticketing/testing'
